//! Compiling a module, and running it.

use wasmtime::{
    Config, Engine, InstancePre, Linker, Module, Store, StoreLimits, StoreLimitsBuilder,
};

use crate::ModuleError;
use crate::system::{self, Exit, Host};

/// Maximum depth of a module's calls, in bytes.
const STACK_BYTES: usize = 512 << 10;

/// What a running module has.
pub(crate) struct State {
    pub(crate) host: Host,
    limits: StoreLimits,
}

/// A compiled module that has all that it imports.
pub(crate) struct Prepared {
    engine: Engine,
    instance: InstancePre<State>,
    host: Host,
}

impl Prepared {
    /// Compiles a module. Says what is wrong with it if that fails.
    pub(crate) fn new(bytes: &[u8], host: Host) -> Result<Prepared, String> {
        let describe = |error: wasmtime::Error| format!("{error:#}");
        let engine = Engine::new(&config()).map_err(describe)?;
        let module = Module::from_binary(&engine, bytes).map_err(describe)?;
        let mut linker = Linker::new(&engine);
        system::add(&mut linker, &module).map_err(describe)?;
        let instance = linker.instantiate_pre(&module).map_err(describe)?;
        Ok(Prepared {
            engine,
            instance,
            host,
        })
    }

    /// Runs the module. Returns its exit code.
    pub(crate) fn run(self, memory_bytes: u64) -> Result<u8, ModuleError> {
        let most = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        let state = State {
            host: self.host,
            limits: StoreLimitsBuilder::new().memory_size(most).build(),
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limits);
        let started = self.instance.instantiate(&mut store).and_then(|instance| {
            let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
            start.call(&mut store, ())
        });
        match started {
            Ok(()) => Ok(0),
            Err(error) => match error.downcast_ref::<Exit>() {
                Some(Exit(code)) => Ok(*code),
                None => Err(ModuleError::Trap(format!("{error:#}"))),
            },
        }
    }
}

/// Everything that needs memory in advance, signal handlers or files is off: the module runs in a
/// sandbox with a limit on address space.
fn config() -> Config {
    let mut config = Config::new();
    config
        .signals_based_traps(false)
        .memory_reservation(0)
        .memory_reservation_for_growth(0)
        .memory_guard_size(0)
        .memory_init_cow(false)
        .max_wasm_stack(STACK_BYTES)
        .wasm_backtrace(false)
        .native_unwind_info(false);
    config
}
