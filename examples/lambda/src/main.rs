//! Receives Asixto's webhooks on AWS Lambda: `cargo lambda watch -p example-lambda`.

use std::{env, process::ExitCode};

use example_lambda::function;
use example_support::{Error, receiver, run};
use lambda_http::lambda_runtime;

#[tokio::main]
async fn main() -> ExitCode {
    run(serve()).await
}

async fn serve() -> Result<(), Error> {
    let function = function(&receiver().await?);
    if env::var_os("AWS_LAMBDA_RUNTIME_API").is_none() {
        return Err("expected to run on AWS Lambda, found no AWS_LAMBDA_RUNTIME_API; \
                    `cargo lambda watch` has one for a try"
            .into());
    }
    lambda_runtime::run(function).await
}
