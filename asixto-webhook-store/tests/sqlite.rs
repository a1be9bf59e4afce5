//! The store in a file: the suite, several processes, crashes, and what it says to a wrong configuration.
#![cfg(test)]
#![cfg(all(feature = "sqlite", feature = "acceptance"))]

use std::{
    env, fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use asixto_webhook_core::{
    BoxFuture, Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, StoreErrorKind, UnixTime, testing::ManualClock,
};
use asixto_webhook_store::{
    SqliteStore,
    acceptance::{self, Harness},
};

const LEASE: Duration = Duration::from_secs(30);
const TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// For the process that is told to play a part: the file.
const FILE: &str = "ASIXTO_WEBHOOK_SQLITE_TEST";

/// A folder of this test run, empty at first.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sqlite-{name}-{}", std::process::id()));
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn clock() -> ManualClock {
    ManualClock::new(UnixTime::from_secs(1_760_000_000))
}

fn key(name: &str) -> DedupKey {
    DedupKey::from_bytes(*Fingerprint::of(name.as_bytes()).as_bytes())
}

async fn claim(store: &SqliteStore, name: &str, body: &str) -> Claimed {
    store.claim(Claim::new(&key(name), Fingerprint::of(body.as_bytes()), LEASE)).await.unwrap()
}

struct Files {
    folder: PathBuf,
    clock: ManualClock,
    made: AtomicUsize,
}

impl Files {
    fn store(&self, path: &Path) -> Arc<dyn DedupStore> {
        Arc::new(SqliteStore::options().clock(self.clock.clone()).open(path).unwrap())
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number}.db"))
    }
}

impl Harness for Files {
    fn store(&self) -> BoxFuture<'_, Arc<dyn DedupStore>> {
        let number = self.made.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { self.store(&self.path(number)) })
    }

    /// Another connection, with a thread of its own, as another process has.
    fn peer<'a>(&'a self, _: &'a Arc<dyn DedupStore>) -> BoxFuture<'a, Arc<dyn DedupStore>> {
        let newest = self.made.load(Ordering::SeqCst) - 1;
        Box::pin(async move { self.store(&self.path(newest)) })
    }

    fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.clock.advance(by) })
    }
}

// E1, E2, E5 to E9: the cases that every store has to pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite() {
    let files = Files { folder: folder("suite"), clock: clock(), made: AtomicUsize::new(0) };
    acceptance::run(&files).await;
    fs::remove_dir_all(files.folder).unwrap();
}

/// E1: ids survive the process; a restart forgets nothing and runs nothing again.
#[tokio::test]
async fn a_restart_forgets_nothing() {
    let (folder, clock) = (folder("restart"), clock());
    let open = || SqliteStore::options().clock(clock.clone()).open(folder.join("ids.db")).unwrap();
    let first = open();
    let Claimed::Fresh(token) = claim(&first, "done", "{}").await else { panic!("not fresh") };
    assert_eq!(first.commit(&token, TTL).await.unwrap(), Held::Yes);
    let Claimed::Fresh(held) = claim(&first, "held", "{}").await else { panic!("not fresh") };
    drop(first);

    let second = open();
    assert!(matches!(claim(&second, "done", "{}").await, Claimed::Done));
    assert!(matches!(claim(&second, "done", "{ }").await, Claimed::Conflict));
    assert!(matches!(claim(&second, "held", "{}").await, Claimed::InFlight { .. }));
    // The token of a process that is gone is as good as ever.
    assert_eq!(second.commit(&held, TTL).await.unwrap(), Held::Yes);
    clock.advance(TTL - Duration::from_millis(1));
    assert!(matches!(claim(&second, "done", "{}").await, Claimed::Done));
    clock.advance(Duration::from_millis(1));
    assert!(matches!(claim(&second, "done", "{}").await, Claimed::Fresh(_)));
    fs::remove_dir_all(folder).unwrap();
}

/// E5: of the claims of four processes, which all begin at once on a file that is not there yet, one is fresh.
#[test]
fn four_processes() {
    if let Some(file) = env::var_os(FILE) {
        return racer(Path::new(&file));
    }
    let folder = folder("race");
    let file = folder.join("ids.db");
    let processes: Vec<_> = (0..4)
        .map(|_| {
            let mut racer = Command::new(env::current_exe().unwrap());
            racer.args(["--exact", "four_processes", "--nocapture"]).env(FILE, &file).stdout(Stdio::piped());
            racer.spawn().unwrap()
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
    fs::remove_dir_all(folder).unwrap();
}

fn racer(file: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = SqliteStore::open(file).unwrap();
    runtime.block_on(async {
        for id in 0..200 {
            if let Claimed::Fresh(_) = claim(&store, &id.to_string(), "{}").await {
                println!("fresh {id}.");
            }
        }
    });
}

/// E5: killed between claim and commit, a process leaves a claim that ends with its lease; what it had committed stays.
#[test]
fn killed_in_between() {
    if let Some(file) = env::var_os(FILE) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::options().clock(clock()).open(file).unwrap();
            let Claimed::Fresh(token) = claim(&store, "done", "{}").await else { panic!("not fresh") };
            assert_eq!(store.commit(&token, TTL).await.unwrap(), Held::Yes);
            assert!(matches!(claim(&store, "claimed", "{}").await, Claimed::Fresh(_)));
        });
        println!("\nclaimed");
        std::thread::park();
    }
    let folder = folder("kill");
    let file = folder.join("ids.db");
    let mut victim = Command::new(env::current_exe().unwrap())
        .args(["--exact", "killed_in_between", "--nocapture"])
        .env(FILE, &file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(victim.stdout.take().unwrap());
    assert!(std::io::BufRead::lines(said).any(|line| line.unwrap() == "claimed"));
    victim.kill().unwrap();
    victim.wait().unwrap();

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let clock = clock();
        let store = SqliteStore::options().clock(clock.clone()).open(&file).unwrap();
        assert!(matches!(claim(&store, "done", "{}").await, Claimed::Done));
        assert!(matches!(claim(&store, "claimed", "{}").await, Claimed::InFlight { .. }));
        clock.advance(LEASE);
        assert!(matches!(claim(&store, "claimed", "{}").await, Claimed::Fresh(_)));
    });
    fs::remove_dir_all(folder).unwrap();
}

/// E7: a file that another holds is a store that is down, and never one that says "duplicate"; it comes back by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_held() {
    let folder = folder("held");
    let file = folder.join("ids.db");
    let store = SqliteStore::open(&file).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (id, body) = (key("id"), Fingerprint::of(b"{}"));
    let error = store.claim(Claim::new(&id, body, LEASE)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    other.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(claim(&store, "id", "{}").await, Claimed::Fresh(_)));
    fs::remove_dir_all(folder).unwrap();
}

/// E7: no more waits than the queue holds, and whoever gives up waiting has claimed nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_full() {
    let folder = folder("queue");
    let file = folder.join("ids.db");
    let store = SqliteStore::options().queue(NonZeroUsize::new(4).unwrap()).open(&file).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut waiting = Vec::new();
    let full = loop {
        let name = format!("waiting {}", waiting.len());
        let mut claimed = Box::pin({
            let store = store.clone();
            async move { store.claim(Claim::new(&key(&name), Fingerprint::of(b"{}"), LEASE)).await }
        });
        match std::future::poll_fn(|cx| std::task::Poll::Ready(claimed.as_mut().poll(cx))).await {
            std::task::Poll::Pending => waiting.push(claimed),
            std::task::Poll::Ready(full) => break full.unwrap_err(),
        }
        assert!(waiting.len() < 100, "the queue has no end");
    };
    assert_eq!(full.kind(), StoreErrorKind::Unavailable);
    assert!(std::error::Error::source(&full).unwrap().to_string().contains("queue"));
    let count = waiting.len();
    assert!(count >= 4);
    drop(waiting);
    other.execute_batch("ROLLBACK").unwrap();
    let mut fresh = 0;
    for place in 0..count {
        let id = key(&format!("waiting {place}"));
        // Until the queue is worked off.
        let claimed = loop {
            if let Ok(claimed) = store.claim(Claim::new(&id, Fingerprint::of(b"{}"), LEASE)).await {
                break claimed;
            }
            tokio::task::yield_now().await;
        };
        fresh += usize::from(matches!(claimed, Claimed::Fresh(_)));
    }
    assert_eq!(fresh, count);
    fs::remove_dir_all(folder).unwrap();
}

/// Ids that are over are removed along with claims, and those that are not stay.
#[tokio::test]
async fn what_is_over_is_removed() {
    let (folder, clock) = (folder("sweep"), clock());
    let file = folder.join("ids.db");
    let store = SqliteStore::options().clock(clock.clone()).open(&file).unwrap();
    let rows = || {
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.query_row("SELECT count(*) FROM asixto_webhook_dedup", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    for name in 0..100 {
        let Claimed::Fresh(token) = claim(&store, &name.to_string(), "{}").await else { panic!("not fresh") };
        assert_eq!(store.commit(&token, TTL).await.unwrap(), Held::Yes);
    }
    clock.advance(TTL - Duration::from_secs(1));
    let Claimed::Fresh(kept) = claim(&store, "kept", "{}").await else { panic!("not fresh") };
    assert_eq!((store.commit(&kept, TTL).await.unwrap(), rows()), (Held::Yes, 101));
    clock.advance(Duration::from_secs(2));
    for name in 100..200 {
        assert!(matches!(claim(&store, &name.to_string(), "{}").await, Claimed::Fresh(_)));
    }
    assert_eq!(rows(), 101);
    assert!(matches!(claim(&store, "kept", "{}").await, Claimed::Done));
    fs::remove_dir_all(folder).unwrap();
}

/// Two prefixes in one file are two stores.
#[tokio::test]
async fn prefixes() {
    let folder = folder("prefix");
    let open = |prefix: &str| SqliteStore::options().prefix(prefix).open(folder.join("ids.db")).unwrap();
    let (one, other) = (open("one_"), open("other_"));
    assert!(matches!(claim(&one, "id", "{}").await, Claimed::Fresh(_)));
    assert!(matches!(claim(&other, "id", "{}").await, Claimed::Fresh(_)));
    assert!(matches!(claim(&open("one_"), "id", "{}").await, Claimed::InFlight { .. }));
    fs::remove_dir_all(folder).unwrap();
}

/// A mistake is said at the start, in words that say how to mend it.
#[test]
fn wrong_configuration() {
    let folder = folder("wrong");
    fs::write(folder.join("text.db"), "no database, but a text of some length".repeat(100)).unwrap();
    let open = |prefix: &str, path: &Path| SqliteStore::options().prefix(prefix).open(path).unwrap_err().to_string();
    for (prefix, path, expected) in [
        ("", folder.join("text.db"), "expected a database of SQLite, found another file"),
        ("", folder.join("no/such/folder/ids.db"), "expected a file, or a folder in which one can be made"),
        ("", folder.clone(), "expected a file, or a folder in which one can be made"),
        ("", PathBuf::from(":memory:"), "found a database in memory, which forgets"),
        ("", PathBuf::new(), "expected the path of a file"),
        ("1st_", folder.join("ids.db"), "expected a prefix of a letter and then letters"),
        ("a; DROP TABLE b", folder.join("ids.db"), "expected a prefix"),
        ("a\"b", folder.join("ids.db"), "expected a prefix"),
    ] {
        let told = open(prefix, &path);
        assert!(told.contains(expected), "{told}");
    }
    let newer = folder.join("newer.db");
    drop(SqliteStore::open(&newer).unwrap());
    let connection = rusqlite::Connection::open(&newer).unwrap();
    connection.execute("INSERT INTO asixto_webhook_schema (version) VALUES (99)", []).unwrap();
    let told = SqliteStore::open(&newer).unwrap_err().to_string();
    assert!(told.contains("expected tables of version 1 at most, found 99"), "{told}");
    fs::remove_dir_all(folder).unwrap();
}
