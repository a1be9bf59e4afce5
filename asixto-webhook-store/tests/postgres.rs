//! The store in PostgreSQL, on a server of the test's own: the suite, several processes, lost answers, and a server that
//! goes away.
#![cfg(test)]
#![cfg(unix)]

use std::{
    env,
    net::SocketAddr,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use asixto_webhook_core::{BoxFuture, Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, StoreErrorKind, Token};
use asixto_webhook_store::{
    PostgresStore,
    acceptance::{self, Harness},
};
use services::Postgres;
use sqlx::{AssertSqlSafe, PgPool, Row, postgres::PgPoolOptions};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

const LEASE: Duration = Duration::from_secs(30);
const TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const PATIENCE: Duration = Duration::from_secs(20);
/// For the process that is told to play a part: the server.
const SERVER: &str = "ASIXTO_WEBHOOK_POSTGRES_TEST";

/// A server of the test's own, which goes with it; without one the test is left out.
macro_rules! server_or_return {
    ($server:ident) => {
        let Some(mut $server) = Postgres::start() else { return };
        let _ = &mut $server;
    };
}

fn key(name: &str) -> DedupKey {
    DedupKey::from_bytes(*Fingerprint::of(name.as_bytes()).as_bytes())
}

async fn claim(store: &PostgresStore, name: &str, body: &str) -> Claimed {
    store.claim(Claim::new(&key(name), Fingerprint::of(body.as_bytes()), LEASE)).await.unwrap()
}

async fn fresh(store: &PostgresStore, name: &str) -> Token {
    match claim(store, name, "{}").await {
        Claimed::Fresh(token) => token,
        other => panic!("{name} is not fresh: {other:?}"),
    }
}

struct Tables {
    pool: PgPool,
    made: AtomicUsize,
}

impl Tables {
    async fn store(&self, number: usize) -> Arc<dyn DedupStore> {
        Arc::new(PostgresStore::with_prefix(self.pool.clone(), &format!("suite{number}_")).await.unwrap())
    }
}

impl Harness for Tables {
    fn store(&self) -> BoxFuture<'_, Arc<dyn DedupStore>> {
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        Box::pin(self.store(number))
    }

    fn peer<'a>(&'a self, _: &'a Arc<dyn DedupStore>) -> BoxFuture<'a, Arc<dyn DedupStore>> {
        Box::pin(self.store(self.made.load(Ordering::SeqCst) - 1))
    }

    /// The server's clock is the server's: what is stored is moved back instead.
    fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for number in 0..self.made.load(Ordering::SeqCst) {
                let sql = format!("UPDATE suite{number}_dedup SET until = until - $1 * interval '1 millisecond'");
                let by = i64::try_from(by.as_millis()).unwrap();
                sqlx::query(AssertSqlSafe(sql)).bind(by).execute(&self.pool).await.unwrap();
            }
        })
    }
}

// E1, E2, E5 to E9: the cases that every store has to pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite() {
    server_or_return!(server);
    let pool = PgPoolOptions::new().max_connections(20).connect(&server.url()).await.unwrap();
    acceptance::run(&Tables { pool, made: AtomicUsize::new(0) }).await;
}

/// E5: of the claims of four processes, which all begin at once without a table, one is fresh.
#[test]
fn four_processes() {
    if let Ok(url) = env::var(SERVER) {
        return racer(&url);
    }
    server_or_return!(server);
    let processes: Vec<_> = (0..4)
        .map(|_| {
            let mut racer = Command::new(env::current_exe().unwrap());
            racer.args(["--exact", "four_processes", "--nocapture"]).env(SERVER, server.url());
            racer.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let said: Vec<_> = processes
        .into_iter()
        .map(|process| {
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    let fresh = |id: usize| said.iter().filter(|said| said.contains(&format!("fresh {id}."))).count();
    assert!((0..200).all(|id| fresh(id) == 1), "{said:?}");
}

fn racer(url: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = PostgresStore::connect(url).await.unwrap();
        for id in 0..200 {
            if let Claimed::Fresh(_) = claim(&store, &id.to_string(), "{}").await {
                println!("fresh {id}.");
            }
        }
    });
}

/// E1, E5, E7: killed and started again, it remembers; meanwhile every step is an error, and no "duplicate".
#[tokio::test]
async fn a_server_that_goes_away_and_comes_back() {
    server_or_return!(server);
    let store = PostgresStore::connect(&server.url()).await.unwrap();
    let token = fresh(&store, "done").await;
    assert_eq!(store.commit(&token, TTL).await.unwrap(), Held::Yes);
    let held = fresh(&store, "held").await;
    server.kill();
    for _ in 0..3 {
        let error = store.claim(Claim::new(&key("done"), Fingerprint::of(b"{}"), LEASE)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    }
    assert!(store.commit(&held, TTL).await.is_err());
    server.start_again();
    assert!(matches!(claim(&store, "done", "{}").await, Claimed::Done));
    assert!(matches!(claim(&store, "done", "{ }").await, Claimed::Conflict));
    assert_eq!(store.commit(&held, TTL).await.unwrap(), Held::Yes);
}

/// E5, E7: an answer that is lost on its way leaves a claim that ends with its lease, and no open transaction; a commit
/// whose answer was lost is taken once more.
#[tokio::test(flavor = "multi_thread")]
async fn lost_answers() {
    server_or_return!(server);
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await;
    let through = server.url().replace(&server.port().to_string(), &proxy.address.port().to_string());
    // Without a question before, the claim itself is what gets no answer.
    let pool = PgPoolOptions::new().max_connections(1).test_before_acquire(false);
    let pool = pool.acquire_timeout(Duration::from_secs(1)).connect(&through).await.unwrap();
    let store = PostgresStore::from_pool(pool.clone()).await.unwrap();
    let direct = PgPool::connect(&server.url()).await.unwrap();
    let token = fresh(&store, "id").await;

    // The connection is asked once more before it is free.
    let free = async {
        while pool.num_idle() == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, free).await.unwrap();
    // It accepts, and never answers: whoever waits gives up, and the next one is not held up for ever.
    proxy.swallow(true);
    let (id, body) = (key("lost"), Fingerprint::of(b"{}"));
    assert!(timeout(Duration::from_millis(300), store.claim(Claim::new(&id, body, LEASE))).await.is_err());
    assert!(timeout(Duration::from_millis(300), store.commit(&token, TTL)).await.is_err());
    proxy.swallow(false);
    proxy.cut();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let held = loop {
        match store.commit(&token, TTL).await {
            Ok(held) => break held,
            Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
        }
    };
    assert_eq!(held, Held::Yes);
    assert!(matches!(claim(&store, "lost", "{}").await, Claimed::InFlight { .. }));
    let open = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
    let open: i64 = sqlx::query(open).fetch_one(&direct).await.unwrap().get(0);
    assert_eq!(open, 0);
}

/// Whoever stops waiting leaves nothing behind, even on the only connection there is.
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_of_one() {
    server_or_return!(server);
    let pool = PgPoolOptions::new().max_connections(1).connect(&server.url()).await.unwrap();
    let store = PostgresStore::from_pool(pool).await.unwrap();
    for round in 0..50_u64 {
        let (id, body) = (key(&format!("dropped {round}")), Fingerprint::of(b"{}"));
        _ = timeout(Duration::from_micros(round * 20), store.claim(Claim::new(&id, body, LEASE))).await;
    }
    let token = timeout(PATIENCE, fresh(&store, "after")).await.unwrap();
    assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
}

/// Ids that are over are removed along with claims, and those that are not stay.
#[tokio::test]
async fn what_is_over_is_removed() {
    server_or_return!(server);
    let pool = PgPool::connect(&server.url()).await.unwrap();
    let store = PostgresStore::from_pool(pool.clone()).await.unwrap();
    let over = "INSERT INTO asixto_webhook_dedup SELECT sha256(n::text::bytea), '', n, true, now() - interval '1 hour' \
                FROM generate_series(1, 200) AS n";
    sqlx::query(over).execute(&pool).await.unwrap();
    let kept = fresh(&store, "kept").await;
    assert_eq!(store.commit(&kept, TTL).await.unwrap(), Held::Yes);
    for name in 0..127 {
        fresh(&store, &name.to_string()).await;
    }
    let rows: i64 = sqlx::query("SELECT count(*) FROM asixto_webhook_dedup").fetch_one(&pool).await.unwrap().get(0);
    assert_eq!(rows, 128);
    assert!(matches!(claim(&store, "kept", "{}").await, Claimed::Done));
}

/// A mistake is said at the start, without the password.
#[tokio::test]
async fn wrong_configuration() {
    server_or_return!(server);
    let pool = PgPool::connect(&server.url()).await.unwrap();
    for prefix in ["1st_", "a b", "a\"; DROP TABLE b; --"] {
        let told = PostgresStore::with_prefix(pool.clone(), prefix).await.unwrap_err().to_string();
        assert!(told.contains("expected a prefix of a letter"), "{told}");
    }
    for url in ["postgres://test:hunter2@127.0.0.1:1/postgres", "mysql://test:hunter2@127.0.0.1/x", "hunter2"] {
        let told = PostgresStore::connect(url).await.unwrap_err().to_string();
        assert!(told.starts_with("PostgreSQL cannot be reached: ") && !told.contains("hunter2"), "{told}");
    }
    drop(PostgresStore::from_pool(pool.clone()).await.unwrap());
    sqlx::query("INSERT INTO asixto_webhook_schema (version) VALUES (99)").execute(&pool).await.unwrap();
    let told = PostgresStore::from_pool(pool).await.unwrap_err().to_string();
    assert!(told.contains("expected tables of version 1 at most, found 99"), "{told}");
}

/// Passes bytes on, or keeps the server's to itself.
struct Proxy {
    address: SocketAddr,
    swallows: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<tokio::task::AbortHandle>>>,
}

impl Proxy {
    async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (swallows, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (swallowing, made) = (swallows.clone(), connections.clone());
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let Ok(server) = TcpStream::connect(server).await else { continue };
                let passing = tokio::spawn(pass(client, server, swallowing.clone()));
                made.lock().unwrap().push(passing.abort_handle());
            }
        });
        Self { address, swallows, connections }
    }

    fn swallow(&self, swallows: bool) {
        self.swallows.store(swallows, Ordering::SeqCst);
    }

    /// Ends the connections that there are.
    fn cut(&self) {
        self.connections.lock().unwrap().drain(..).for_each(|connection| connection.abort());
    }
}

async fn pass(client: TcpStream, server: TcpStream, swallows: Arc<AtomicBool>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let up = async { _ = tokio::io::copy(&mut from_client, &mut to_server).await };
    let down = async {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = from_server.read(&mut bytes).await {
            if !swallows.load(Ordering::SeqCst) && to_client.write_all(&bytes[..read]).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(up, down);
}
