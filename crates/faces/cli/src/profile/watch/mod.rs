//! `trawl profile watch`: the operations of the last interval, again and again: a view that fills
//! the terminal, or tables for pipes.

mod keys;
mod screen;
mod state;
mod table;
mod view;

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use trawl_profile::{ProfileError, Streams, USUAL, Watch, Wishes};

use self::keys::{Key, Keyboard};
use self::screen::Screen;
use self::state::State;
use super::subject::Usual;
use super::{WatchArgs, failed, recorded};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::output::say;
use crate::unlocked::Unlocked;

/// How soon an interrupt or another size of the terminal is noticed.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Watches until the subject ends, a key or an interrupt ends it, or all intervals are over.
pub(super) fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    let is_live = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let subject = args.subject.subject()?;
    let wishes = Wishes {
        layers: args.layers.layers(Usual::Instead(USUAL))?,
        resolution: args.layers.resolution,
        interval: None,
        duration: None,
        streams: match is_live {
            true => Streams::Nowhere,
            false => Streams::Own,
        },
    };
    live::outlive_signals().map_err(|why| Failure::Usage(why.to_string()))?;
    crate::again::note_begun();
    let watch = match Watch::begin(&subject, &wishes) {
        Err(error @ ProfileError::Start { .. }) => return Ok(recorded::not_started(error)),
        other => other.map_err(failed)?,
    };
    let names: Vec<&str> = wishes.layers.iter().map(|layer| layer.name()).collect();
    let state = State::new(watch.title(), args.interval, &names);
    let mut watching = Watching {
        begun: Instant::now(),
        due: args.interval,
        left: args.count,
        has_ended: false,
        watch,
        state,
    };
    match is_live {
        true => watching.show()?,
        false => watching.print()?,
    }
    let losses = watching.watch.losses();
    for loss in &losses {
        say(format_args!("what was shown is incomplete: {loss}"));
    }
    let status = watching.watch.leave();
    Ok(match status {
        Some(status) => Exit::Command(recorded::code(status)),
        None => Exit::from_issues(losses.len() as u64),
    })
}

struct Watching {
    watch: Watch,
    state: State,
    begun: Instant,
    /// Time from the beginning until the interval ends.
    due: Duration,
    /// Intervals until the end, if it is near.
    left: Option<u64>,
    has_ended: bool,
}

impl Watching {
    /// Ends the interval if its time has come, or the subject has ended; returns whether it did.
    fn advance(&mut self) -> Result<bool, Failure> {
        if self.begun.elapsed() < self.due && !self.has_ended {
            return Ok(false);
        }
        let profiles = self.watch.interval().map_err(failed)?;
        self.state.push(profiles);
        self.due = self.due.saturating_add(self.state.interval);
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(true)
    }

    fn is_over(&self) -> bool {
        self.left == Some(0) || live::is_interrupted()
    }

    fn wait(&self) -> Duration {
        LOOK_AGAIN.min(self.due.saturating_sub(self.begun.elapsed()))
    }

    /// Prints a table for each interval.
    fn print(&mut self) -> Result<(), Failure> {
        let mut out = Unlocked::stdout();
        while !self.is_over() && !self.has_ended {
            self.has_ended = match self.watch.end() {
                Some(end) => {
                    trawl_sys::wait::readable([end], Some(self.wait())).is_ok_and(|[ended]| ended)
                }
                None => {
                    std::thread::sleep(self.wait());
                    false
                }
            };
            if self.advance()? {
                let text = table::table(&self.state);
                let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                written.map_err(Failure::Write)?;
            }
        }
        Ok(())
    }

    /// Fills the terminal until a key, an interrupt or the last interval ends it. When the subject
    /// has ended, its last intervals stay.
    fn show(&mut self) -> Result<(), Failure> {
        let stdin = std::io::stdin();
        let mut screen = Screen::take(&stdin)?;
        let mut keyboard = Keyboard::of(&stdin).map_err(Failure::Write)?;
        while !self.is_over() {
            screen.draw(&self.state)?;
            let (typed, ended) = self.look(&stdin);
            if typed && self.typed(&mut keyboard) {
                break;
            }
            if ended && !self.has_ended {
                self.has_ended = true;
                self.advance()?;
                self.state.has_ended = true;
            }
            if !self.state.has_ended {
                self.advance()?;
            }
        }
        Ok(())
    }

    /// Waits for keys and for the subject's end.
    fn look(&self, stdin: impl AsFd) -> (bool, bool) {
        let wait = match self.state.has_ended {
            true => LOOK_AGAIN,
            false => self.wait(),
        };
        let end = self.watch.end().filter(|_| !self.has_ended);
        match end {
            Some(end) => {
                let ready = trawl_sys::wait::readable([stdin.as_fd(), end], Some(wait));
                ready.map_or((false, false), |[typed, ended]| (typed, ended))
            }
            None => {
                let ready = trawl_sys::wait::readable([stdin.as_fd()], Some(wait));
                (ready.is_ok_and(|[typed]| typed), false)
            }
        }
    }

    /// Does what keys ask for; returns whether one ends the view.
    fn typed(&mut self, keyboard: &mut Keyboard) -> bool {
        for key in keyboard.read() {
            match key {
                Key::Quit => return true,
                key => self.state.press(key),
            }
        }
        false
    }
}
