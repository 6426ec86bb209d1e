//! Passwords, checked by PAM in a process of its own: a module may wait, crash or change its process.

use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trawl_sys::pam::{Login, PamError, authenticate};
use trawl_sys::wait::readable;

use super::messages::Refusal;
use super::proofs::WRONG;

/// The word that makes this program check a password.
pub const WORD: &str = "--password";

/// Time after which a module that does not answer is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How passwords are checked.
#[derive(Clone, Debug)]
pub struct Passwords {
    /// This program.
    pub program: PathBuf,
    /// The service of PAM.
    pub service: String,
    /// Where PAM's configuration is, if not in its usual place.
    pub directory: Option<PathBuf>,
}

/// What the process is told, on its standard input.
#[derive(Serialize, Deserialize)]
struct Question {
    service: String,
    directory: Option<PathBuf>,
    user: String,
    password: String,
    address: Option<IpAddr>,
}

/// What the process answers, on its standard output.
#[derive(Serialize, Deserialize)]
enum Verdict {
    User(String),
    Wrong,
    Closed(String),
    Broken(String),
}

impl Passwords {
    /// Returns the user whose password this is.
    ///
    /// # Errors
    /// Says why the password does not hold. What is wrong with the system is said on standard error.
    pub fn check(
        &self,
        user: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<String, Refusal> {
        let question = Question {
            service: self.service.clone(),
            directory: self.directory.clone(),
            user: user.to_owned(),
            password: password.to_owned(),
            address,
        };
        let broken = |why: String| {
            eprintln!("trawl: the password of {user:?} cannot be checked: {why}");
            Refusal::new(
                503,
                "passwords cannot be checked right now; tell the administrator",
            )
        };
        match self.ask(&question) {
            Ok(Verdict::User(user)) => Ok(user),
            Ok(Verdict::Wrong) => Err(Refusal::new(403, WRONG)),
            Ok(Verdict::Closed(why)) => Err(Refusal::new(
                403,
                format!("this account may not log in now: {why}"),
            )),
            Ok(Verdict::Broken(why)) => Err(broken(why)),
            Err(error) => Err(broken(error.to_string())),
        }
    }

    fn ask(&self, question: &Question) -> std::io::Result<Verdict> {
        let mut command = Command::new(&self.program);
        command.arg(WORD).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let asked = (|| {
            let missing = || std::io::Error::other("a pipe is missing");
            let mut input = child.stdin.take().ok_or_else(missing)?;
            input.write_all(&serde_json::to_vec(question)?)?;
            drop(input);
            let mut output = child.stdout.take().ok_or_else(missing)?;
            let until = Instant::now() + PATIENCE;
            let mut text = Vec::new();
            // Something that a module left behind may hold the pipe open: a line is the answer.
            while !text.ends_with(b"\n") {
                let left = until.saturating_duration_since(Instant::now());
                let [has_answered] = readable([output.as_fd()], Some(left))?;
                if !has_answered && left.is_zero() {
                    return Err(std::io::Error::other("PAM does not answer in time"));
                }
                let mut part = [0; 512];
                if has_answered {
                    match output.read(&mut part)? {
                        0 => break,
                        length => text.extend_from_slice(&part[..length]),
                    }
                }
            }
            Ok(serde_json::from_slice(&text)?)
        })();
        let _ = child.kill();
        child.wait()?;
        asked
    }
}

/// Checks one password: the work of the process.
///
/// # Errors
/// Says that the question cannot be read, or the answer cannot be written.
pub fn answer() -> Result<(), String> {
    let question: Question = serde_json::from_reader(std::io::stdin())
        .map_err(|error| format!("the question is invalid: {error}"))?;
    let address = question.address.map(|address| address.to_string());
    let verdict = authenticate(Login {
        service: &question.service,
        user: &question.user,
        password: &question.password,
        remote_host: address.as_deref(),
        configuration: question.directory.as_deref(),
    });
    let verdict = match verdict {
        Ok(user) => Verdict::User(user),
        Err(PamError::Wrong) => Verdict::Wrong,
        Err(PamError::Account { why }) => Verdict::Closed(why),
        Err(error) => Verdict::Broken(error.to_string()),
    };
    let line = serde_json::to_string(&verdict).map_err(|error| error.to_string())?;
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}
