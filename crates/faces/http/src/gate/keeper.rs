//! The process with all rights: it knows who may ask, and starts the processes that answer.
//!
//! It reads messages of the front only. Each is answered on a thread of a small crew; logins have a
//! crew of their own, so that a directory service that is slow keeps nobody waiting who has a session.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_identity::credentials::Credentials;
use trawl_model::sync::lock;
use trawl_remote::tls::users::Users;
use trawl_sys::become_user::User;
use trawl_sys::identity::effective_uid;
use trawl_sys::message::Waiting;
use trawl_sys::process::raise_descriptor_limit;
use trawl_sys::signal::StopSignals;
use trawl_sys::wait::readable;

use super::fronts::{Fronts, certificate};
use super::messages::{Answer, Asked, Refusal, Request, Setup, Told, hear, tell};
use super::openid::line::Line;
use super::openid::login::OpenId;
use super::openid::settings::Settings;
use super::options::Options;
use super::password::Passwords;
use super::proofs::Proofs;
use super::record::Record;
use super::sockets::Sockets;
use super::staff::{Staff, Work};
use crate::limits::{CONNECTIONS_OF_ALL, DESCRIPTORS, connections_within};

/// The words that make this program each of the processes.
pub const WORD: &str = "--many";
/// See [`WORD`].
pub const FRONT: &str = "--front";
/// See [`WORD`].
pub const DESK: &str = "--desk";

/// Threads that answer questions of the front, and those that answer logins.
const CREW: usize = 8;
/// Requests of the front that wait for a thread of either crew.
const QUEUE: usize = 512;
/// Time between two looks at what has to be tidied.
const LOOK: Duration = Duration::from_secs(2);
/// Least time between two starts of the front.
const PAUSE: Duration = Duration::from_secs(1);

/// A request, and where the answer goes.
type Job = (Request, Arc<OwnedFd>);

/// The threads that answer.
struct Crews {
    questions: SyncSender<Job>,
    logins: SyncSender<Job>,
    openid: SyncSender<Job>,
}

struct Keeper {
    proofs: Proofs,
    staff: Mutex<Staff>,
    record: Option<Mutex<Record>>,
}

/// Serves until a signal ends it.
///
/// # Errors
/// Says why it cannot serve.
pub fn keep(words: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let options = Options::parse(words).map_err(|error| error.to_string())?;
    let stop = StopSignals::take().map_err(|error| error.to_string())?;
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    let descriptors = raise_descriptor_limit(DESCRIPTORS);
    let sockets = Sockets::open(&options)?;
    let certificate = certificate(&options)?;
    let front = front_user(&options.user)?;
    let keeper = Arc::new(Keeper::new(&options, &program, &front)?);
    let setup = Setup {
        ways: ways(&options),
        provider: keeper.provider(),
        proxy_header: options.proxy_header.clone(),
        hourly_bytes: options.hourly_bytes,
        hourly_rows: options.hourly_rows,
        sockets: sockets.tls.len() + sockets.proxy.len(),
    };
    let mut fronts = Fronts {
        program,
        user: front,
        certificate,
        setup,
    };
    let questions = crew(&keeper)?;
    let logins = crew(&keeper)?;
    let crews = Crews {
        questions,
        logins,
        // A provider that is slow delays nobody who logs in otherwise.
        openid: crew(&keeper)?,
    };
    let mut front = Some(fronts.start(&sockets)?);
    for address in sockets.tls.iter().filter_map(|tls| tls.local_addr().ok()) {
        eprintln!("trawl: listening on https://{address}");
    }
    for (_, path) in &sockets.proxy {
        eprintln!("trawl: listening on {} for proxies", path.display());
    }
    let connections = connections_within(descriptors);
    if connections < CONNECTIONS_OF_ALL {
        eprintln!(
            "trawl: only {connections} connections at a time, because a process can have only \
             {descriptors} descriptors: raise the limit (ulimit -n, LimitNOFILE)"
        );
    }
    let mut started = Instant::now();
    let mut tidied = Instant::now();
    loop {
        let control = front.as_ref().map(|(_, control)| Arc::clone(control));
        let [is_ended, _] = match &control {
            Some(control) => readable([stop.as_fd(), control.as_fd()], Some(LOOK)),
            None => readable([stop.as_fd()], Some(PAUSE)).map(|[stop]| [stop, false]),
        }
        .map_err(|error| error.to_string())?;
        if is_ended {
            break;
        }
        if let Some(control) = control
            && !pass_on(&keeper, &control, &crews)
            && let Some((mut child, _)) = front.take()
        {
            let _ = child.kill();
            let _ = child.wait();
            eprintln!("trawl: the process that ends TLS has ended; another one is started");
        }
        if front.is_none() && started.elapsed() >= PAUSE {
            started = Instant::now();
            match fronts.start(&sockets) {
                Ok(begun) => front = Some(begun),
                Err(error) => eprintln!("trawl: {error}"),
            }
        }
        if tidied.elapsed() >= LOOK {
            tidied = Instant::now();
            lock(&keeper.staff).tidy(tidied);
            if let Some((_, control)) = &front {
                fronts.renew(control);
            }
        }
    }
    if let Some((mut child, control)) = front {
        let _ = child.kill();
        let _ = child.wait();
        // What it has said of questions is recorded.
        while pass_on(&keeper, &control, &crews) {}
    }
    if let Some(openid) = &keeper.proofs.openid {
        openid.line.end();
    }
    lock(&keeper.staff).end();
    Ok(())
}

/// Returns the ways to log in, as the page is told.
fn ways(options: &Options) -> Vec<String> {
    let ways = [
        ("password", options.pam.is_some()),
        ("oidc", options.oidc.is_some()),
        ("token", true),
        ("certificate", options.client_ca.is_some()),
    ];
    let ways = ways.iter().filter(|(_, is_open)| *is_open);
    ways.map(|(way, _)| (*way).to_owned()).collect()
}

/// Returns the user of the front. A keeper without rights starts it as itself.
fn front_user(name: &str) -> Result<User, String> {
    match effective_uid() {
        0 => User::named(name).map_err(|why| format!("{name}: {why}")),
        uid => Ok(User {
            uid,
            gid: trawl_sys::identity::effective_gid(),
            groups: trawl_sys::identity::groups().map_err(|error| error.to_string())?,
        }),
    }
}

/// Starts threads that answer what comes through the channel.
fn crew(keeper: &Arc<Keeper>) -> Result<SyncSender<Job>, String> {
    let (sender, receiver) = sync_channel::<Job>(QUEUE);
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..CREW {
        let (keeper, receiver) = (Arc::clone(keeper), Arc::clone(&receiver));
        let work = move || {
            while let Some((request, control)) = next(&receiver) {
                let number = request.number;
                if let Some((told, connection)) = keeper.answer(request) {
                    let answer = Answer { number, told };
                    let connection = connection.as_ref().map(AsFd::as_fd);
                    // A front that has ended needs no answer.
                    let _ = tell(&*control, &answer, connection, Waiting::Allowed);
                }
            }
        };
        let thread = std::thread::Builder::new().name("keeper".into());
        let started = thread.spawn(work);
        started.map_err(|error| format!("cannot start a thread: {error}"))?;
    }
    Ok(sender)
}

fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    lock(jobs).recv().ok()
}

/// Passes the messages of the front on to the crews. Returns false if the front has ended, or says
/// something that it must not.
fn pass_on(keeper: &Keeper, control: &Arc<OwnedFd>, crews: &Crews) -> bool {
    // Now and then a signal must be heard, and desks looked after.
    for _ in 0..QUEUE {
        let request = match hear::<Request>(&**control, Waiting::Never) {
            Ok(Some((request, _))) => request,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Ok(None) | Err(_) => return false,
        };
        let number = request.number;
        let crew = match &request.asked {
            Asked::Record(ended) => {
                keeper.record(|record| record.question(request.address, ended));
                continue;
            }
            Asked::Login { .. } | Asked::Exchange { .. } => &crews.logins,
            Asked::BeginOpenId { .. } | Asked::FinishOpenId(_) => &crews.openid,
            _ => &crews.questions,
        };
        if let Err(TrySendError::Full(_)) = crew.try_send((request, Arc::clone(control))) {
            let refusal = Refusal::until(503, "the server is busy: ask again", 1);
            let told = Told::Refused(refusal);
            let _ = tell(&**control, &Answer { number, told }, None, Waiting::Never);
        }
    }
    true
}

impl Keeper {
    fn new(options: &Options, program: &Path, front: &User) -> Result<Keeper, String> {
        let credentials = Credentials::open(&options.state).map_err(|error| error.to_string())?;
        let users = match &options.client_ca {
            None => None,
            Some(_) => {
                let users = Users::in_file(&options.users);
                users.check().map_err(|error| error.to_string())?;
                Some(users)
            }
        };
        let passwords = options.pam.clone().map(|service| Passwords {
            program: program.to_owned(),
            service,
            directory: options.pam_directory.clone(),
        });
        let record = options.record.as_ref().map(|path| {
            let opened = Record::open(path).map(Mutex::new);
            opened.map_err(|error| format!("cannot write the record {}: {error}", path.display()))
        });
        Ok(Keeper {
            proofs: Proofs {
                credentials,
                attempts: Default::default(),
                rates: Mutex::default(),
                passwords,
                users,
                openid: openid(options, program, front)?,
                has_proxies: !options.proxy.is_empty(),
                front: front.uid,
            },
            staff: Mutex::new(Staff::new(desks(options, program))),
            record: record.transpose()?,
        })
    }

    /// Returns the name of the provider of OpenID Connect.
    fn provider(&self) -> Option<String> {
        let openid = self.proofs.openid.as_ref();
        openid.map(|openid| openid.line.settings.name.clone())
    }

    /// Answers a request of the front.
    fn answer(&self, request: Request) -> Option<(Told, Option<OwnedFd>)> {
        let address = request.address;
        let answered = match request.asked {
            Asked::Login { user, password } => {
                let begun = self.proofs.log_in(&user, &password, address);
                self.record_login(address, user_of(&begun, &user), "password", &begun);
                begun.map(|told| (told, None))
            }
            Asked::Exchange { token } => {
                let begun = self.proofs.exchange(&token, address);
                self.record_login(address, user_of(&begun, ""), "token", &begun);
                begun.map(|told| (told, None))
            }
            Asked::BeginOpenId { hash } => {
                let begun = self.proofs.begin_openid(hash, address);
                begun.map(|told| (told, None))
            }
            Asked::FinishOpenId(shown) => {
                let begun = self.proofs.finish_openid(shown, address);
                self.record_login(address, user_of(&begun, ""), "oidc", &begun);
                begun.map(|told| (told, None))
            }
            Asked::Open { proof } => {
                let known = self.proofs.known(&proof);
                known.and_then(|(who, user)| {
                    let connected = lock(&self.staff).connect(&user, Instant::now());
                    let connection = connected.map_err(|error| {
                        eprintln!("trawl: cannot answer {}: {error}", who.user);
                        Refusal::new(
                            503,
                            "your process cannot be started; tell the administrator",
                        )
                    })?;
                    Ok((Told::Known(who), Some(connection)))
                })
            }
            Asked::Check { proof } => {
                let known = self.proofs.known(&proof);
                known.map(|(who, _)| (Told::Known(who), None))
            }
            Asked::End { secret } => self.proofs.end(&secret).map(|()| (Told::Done, None)),
            Asked::Record(_) => return None,
        };
        Some(answered.unwrap_or_else(|refusal| (Told::Refused(refusal), None)))
    }

    fn record_login(
        &self,
        address: Option<std::net::IpAddr>,
        user: &str,
        way: &str,
        begun: &Result<Told, Refusal>,
    ) {
        let result = match begun {
            Ok(_) => Ok(()),
            Err(refusal) => Err(refusal.detail.as_str()),
        };
        self.record(|record| record.login(address, user, way, result));
    }

    fn record(&self, work: impl FnOnce(&mut Record) -> io::Result<()>) {
        if let Some(record) = &self.record
            && let Err(error) = work(&mut lock(record))
        {
            eprintln!("trawl: the record of questions cannot be written: {error}");
        }
    }
}

/// Returns the account whose session has begun; what was typed if none has.
fn user_of<'a>(begun: &'a Result<Told, Refusal>, typed: &'a str) -> &'a str {
    match begun {
        Ok(Told::Session { user, .. }) => user,
        _ => typed,
    }
}

/// Reads the file that names a provider of OpenID Connect, and the rules for its users.
fn openid(options: &Options, program: &Path, user: &User) -> Result<Option<OpenId>, String> {
    let Some(path) = &options.oidc else {
        return Ok(None);
    };
    let settings = Settings::read(path).map_err(|error| error.to_string())?;
    let users = Users::in_file(&options.users);
    users.check().map_err(|error| error.to_string())?;
    let line = Line::new(program.to_owned(), user.clone(), settings);
    Ok(Some(OpenId { line, users }))
}

fn desks(options: &Options, program: &Path) -> Work {
    let word = |name: &str, value: &std::ffi::OsStr| {
        let mut word = OsString::from(name);
        word.push(value);
        word
    };
    let mut words = vec![
        OsString::from(DESK),
        word("--program=", options.program.as_os_str()),
    ];
    if let Some(index) = &options.index {
        words.push(word("--index=", index.as_os_str()));
    }
    if let Some(limit) = options.time_limit {
        words.push(format!("--time-limit={}", limit.as_millis()).into());
    }
    Work {
        program: program.to_owned(),
        words,
    }
}
