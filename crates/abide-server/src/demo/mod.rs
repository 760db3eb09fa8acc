//! placeholder
use crate::{cli::DemoArgs, error::Error};
pub(crate) async fn run(_a: DemoArgs) -> Result<(), Error> {
    Ok(())
}
pub(crate) async fn work(_a: &std::path::Path) -> Result<(), Error> {
    Ok(())
}
