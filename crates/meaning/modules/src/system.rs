//! What a module may import: `wasi_snapshot_preview1`, of which the part works that concerns arguments,
//! standard streams, clocks, random numbers and the end. The rest fails with `ENOTCAPABLE`. Names, numbers and errors are WASI's
//! (<https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md>).

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wasmtime::{Caller, Extern, ExternType, Linker, Memory, Module, Val, ValType};

use crate::machine::State;

/// Name under which modules import the functions.
const WASI: &str = "wasi_snapshot_preview1";

/// Errors of WASI.
#[derive(Clone, Copy)]
#[repr(i32)]
enum Errno {
    Success = 0,
    BadDescriptor = 8,
    Fault = 21,
    Invalid = 28,
    Io = 29,
    NotCapable = 76,
}

type Answer = Result<(), Errno>;

/// Maximum number of bytes that are moved at once. More takes further calls.
const PIECE_BYTES: u32 = 64 << 10;
/// Maximum number of buffers of a call.
const BUFFERS_MAX: u32 = 1024;
/// A regular file, and a character device: types of files.
const REGULAR: u8 = 4;
const CHARACTER_DEVICE: u8 = 2;
/// Rights to read and to seek, and to write.
const MAY_READ: u64 = 1 << 1 | 1 << 2 | 1 << 5;
const MAY_WRITE: u64 = 1 << 6;

/// The module ended itself with this code.
#[derive(Debug)]
pub(crate) struct Exit(pub(crate) u8);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// What the functions work on.
pub(crate) struct Host {
    arguments: Vec<Vec<u8>>,
    /// Standard input.
    input: File,
    started: Instant,
    random: u64,
}

impl Host {
    pub(crate) fn new(arguments: Vec<Vec<u8>>, input: File) -> Host {
        Host {
            arguments,
            input,
            started: Instant::now(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Fills a buffer with numbers that are the same in each run (xorshift64*, Vigna 2016).
    fn fill(&mut self, buffer: &mut [u8]) {
        for bytes in buffer.chunks_mut(8) {
            self.random ^= self.random >> 12;
            self.random ^= self.random << 25;
            self.random ^= self.random >> 27;
            let number = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d);
            bytes.copy_from_slice(&number.to_le_bytes()[..bytes.len()]);
        }
    }
}

/// The memory of the module that calls.
struct View<'c, 's> {
    caller: &'c mut Caller<'s, State>,
    memory: Memory,
}

impl View<'_, '_> {
    fn read<const N: usize>(&mut self, at: u32) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        let read = self.memory.read(&self.caller, at as usize, &mut bytes);
        read.map(|()| bytes).map_err(|_| Errno::Fault)
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Answer {
        let written = self.memory.write(&mut self.caller, at as usize, bytes);
        written.map_err(|_| Errno::Fault)
    }

    fn write_u32(&mut self, at: u32, number: u32) -> Answer {
        self.write(at, &number.to_le_bytes())
    }

    /// Returns a part of the memory, which must lie within it, and what else functions work on.
    fn part(&mut self, at: u32, bytes: u32) -> Result<(&mut [u8], &mut Host), Errno> {
        let end = (at as usize).checked_add(bytes as usize);
        let (all, state) = self.memory.data_and_store_mut(&mut self.caller);
        let part = end.and_then(|end| all.get_mut(at as usize..end));
        part.map(|part| (part, &mut state.host)).ok_or(Errno::Fault)
    }

    fn host(&mut self) -> &mut Host {
        &mut self.caller.data_mut().host
    }

    /// Returns the first buffer of a list that is not empty, as position and length.
    fn first_buffer(&mut self, list: u32, count: u32) -> Result<(u32, u32), Errno> {
        if count > BUFFERS_MAX {
            return Err(Errno::Invalid);
        }
        for number in 0..count {
            let at = list.checked_add(number * 8).ok_or(Errno::Fault)?;
            let [a, b, c, d, e, f, g, h] = self.read(at)?;
            let length = u32::from_le_bytes([e, f, g, h]);
            if length > 0 {
                return Ok((u32::from_le_bytes([a, b, c, d]), length.min(PIECE_BYTES)));
            }
        }
        Ok((0, 0))
    }
}

/// Calls a function with the memory of the module, and returns WASI's number for its result.
fn with(mut caller: Caller<'_, State>, call: impl FnOnce(&mut View<'_, '_>) -> Answer) -> i32 {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Errno::Fault as i32;
    };
    let caller = &mut caller;
    match call(&mut View { caller, memory }) {
        Ok(()) => Errno::Success as i32,
        Err(error) => error as i32,
    }
}

type Calling<'c> = Caller<'c, State>;

/// Adds the functions that a module imports.
pub(crate) fn add(linker: &mut Linker<State>, module: &Module) -> wasmtime::Result<()> {
    refuse_all(linker, module)?;
    linker.allow_shadowing(true);
    add_words(linker)?;
    add_streams(linker)?;
    linker.func_wrap(WASI, "clock_time_get", clock_time_get)?;
    linker.func_wrap(
        WASI,
        "clock_res_get",
        |caller: Calling<'_>, _: u32, at: u32| {
            with(caller, |view| view.write(at, &1u64.to_le_bytes()))
        },
    )?;
    linker.func_wrap(
        WASI,
        "random_get",
        |caller: Calling<'_>, at: u32, bytes: u32| {
            with(caller, |view| {
                let (part, host) = view.part(at, bytes)?;
                host.fill(part);
                Ok(())
            })
        },
    )?;
    linker.func_wrap(WASI, "sched_yield", || Errno::Success as i32)?;
    linker.func_wrap(WASI, "proc_exit", |code: u32| -> wasmtime::Result<()> {
        Err(Exit(u8::try_from(code).unwrap_or(u8::MAX)).into())
    })?;
    // Directories that were given to the module: none.
    linker.func_wrap(WASI, "fd_prestat_get", |_: u32, _: u32| {
        Errno::BadDescriptor as i32
    })?;
    Ok(())
}

/// Adds functions that fail for all that a module imports from WASI: C libraries import functions for
/// files and directories even where a program uses none.
fn refuse_all(linker: &mut Linker<State>, module: &Module) -> wasmtime::Result<()> {
    for import in module.imports().filter(|import| import.module() == WASI) {
        let ExternType::Func(of) = import.ty() else {
            continue;
        };
        let gives_errno = matches!(of.results().collect::<Vec<_>>()[..], [ValType::I32]);
        if gives_errno {
            linker.func_new(WASI, import.name(), of, |_, _, results| {
                results[0] = Val::I32(Errno::NotCapable as i32);
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Adds arguments and the environment, which is empty.
fn add_words(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let sizes = |caller: Calling<'_>, count: u32, bytes: u32| {
        with(caller, |view| {
            let arguments = &view.host().arguments;
            let length: usize = arguments.iter().map(|one| one.len() + 1).sum();
            let (number, length) = (arguments.len() as u32, length as u32);
            view.write_u32(count, number)?;
            view.write_u32(bytes, length)
        })
    };
    linker.func_wrap(WASI, "args_sizes_get", sizes)?;
    linker.func_wrap(
        WASI,
        "args_get",
        |caller: Calling<'_>, list: u32, bytes: u32| {
            with(caller, |view| {
                let arguments = view.host().arguments.clone();
                let mut at = bytes;
                for (argument, number) in arguments.iter().zip(0u32..) {
                    view.write_u32(list.wrapping_add(number * 4), at)?;
                    view.write(at, &[argument.as_slice(), b"\0"].concat())?;
                    at = at.wrapping_add(argument.len() as u32 + 1);
                }
                Ok(())
            })
        },
    )?;
    let empty = |caller: Calling<'_>, count: u32, bytes: u32| {
        with(caller, |view| {
            view.write_u32(count, 0)?;
            view.write_u32(bytes, 0)
        })
    };
    linker.func_wrap(WASI, "environ_sizes_get", empty)?;
    linker.func_wrap(WASI, "environ_get", |_: u32, _: u32| Errno::Success as i32)?;
    Ok(())
}

fn add_streams(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(WASI, "fd_read", fd_read)?;
    linker.func_wrap(WASI, "fd_write", fd_write)?;
    linker.func_wrap(
        WASI,
        "fd_seek",
        |caller: Calling<'_>, fd, by, whence, at| {
            with(caller, |view| seek(view, fd, (by, whence), at))
        },
    )?;
    linker.func_wrap(WASI, "fd_tell", |caller: Calling<'_>, fd: u32, at: u32| {
        with(caller, |view| seek(view, fd, (0, 1), at))
    })?;
    linker.func_wrap(WASI, "fd_close", |_: u32| Errno::Success as i32)?;
    linker.func_wrap(
        WASI,
        "fd_fdstat_get",
        |caller: Calling<'_>, fd: u32, at: u32| {
            with(caller, |view| {
                let (kind, rights) = match fd {
                    0 => (REGULAR, MAY_READ),
                    1 | 2 => (CHARACTER_DEVICE, MAY_WRITE),
                    _ => return Err(Errno::BadDescriptor),
                };
                let mut answer = [0; 24];
                answer[0] = kind;
                answer[8..16].copy_from_slice(&rights.to_le_bytes());
                view.write(at, &answer)
            })
        },
    )?;
    linker.func_wrap(
        WASI,
        "fd_filestat_get",
        |caller: Calling<'_>, fd: u32, at: u32| {
            with(caller, |view| {
                let (kind, size) = match fd {
                    0 => {
                        let found = view.host().input.metadata().map_err(|_| Errno::Io)?;
                        (REGULAR, found.len())
                    }
                    1 | 2 => (CHARACTER_DEVICE, 0),
                    _ => return Err(Errno::BadDescriptor),
                };
                let mut answer = [0; 64];
                answer[16] = kind;
                answer[32..40].copy_from_slice(&size.to_le_bytes());
                view.write(at, &answer)
            })
        },
    )?;
    Ok(())
}

fn fd_read(caller: Calling<'_>, fd: u32, list: u32, count: u32, at: u32) -> i32 {
    with(caller, |view| {
        if fd != 0 {
            return Err(Errno::BadDescriptor);
        }
        let (buffer, bytes) = view.first_buffer(list, count)?;
        let (part, host) = view.part(buffer, bytes)?;
        let read = host.input.read(part).map_err(|_| Errno::Io)?;
        view.write_u32(at, read as u32)
    })
}

fn fd_write(caller: Calling<'_>, fd: u32, list: u32, count: u32, at: u32) -> i32 {
    with(caller, |view| {
        let (buffer, bytes) = view.first_buffer(list, count)?;
        let (part, _) = view.part(buffer, bytes)?;
        let written = match fd {
            1 => {
                let mut output = io::stdout().lock();
                output.write_all(part).and_then(|()| output.flush())
            }
            2 => io::stderr().lock().write_all(part),
            _ => return Err(Errno::BadDescriptor),
        };
        written.map_err(|_| Errno::Io)?;
        view.write_u32(at, bytes)
    })
}

fn seek(view: &mut View<'_, '_>, fd: u32, (by, whence): (i64, u32), at: u32) -> Answer {
    if fd != 0 {
        return Err(Errno::BadDescriptor);
    }
    let to = match whence {
        0 => SeekFrom::Start(u64::try_from(by).map_err(|_| Errno::Invalid)?),
        1 => SeekFrom::Current(by),
        2 => SeekFrom::End(by),
        _ => return Err(Errno::Invalid),
    };
    let moved = view.host().input.seek(to).map_err(|_| Errno::Invalid)?;
    view.write(at, &moved.to_le_bytes())
}

fn clock_time_get(caller: Calling<'_>, clock: u32, _precision: u64, at: u32) -> i32 {
    with(caller, |view| {
        let since = match clock {
            0 => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            1 => view.host().started.elapsed(),
            _ => return Err(Errno::Invalid),
        };
        let ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        view.write(at, &ns.to_le_bytes())
    })
}
