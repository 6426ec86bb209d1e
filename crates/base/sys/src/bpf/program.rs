//! Assembles the instructions of BPF programs one by one.
//!
//! Only what is needed to inspect kernel data and write it out is supported: no loops, and no calls
//! except to the kernel's helpers. A program returns 0, which continues the iteration.
//!
//! Source: <https://www.kernel.org/doc/html/latest/bpf/standardization/instruction-set.html>

/// A register. `R1` initially holds the context, `R6` to `R9` are preserved across calls, `R10`
/// points to the end of a stack of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "each variant is the register of that name")]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// Number of bytes that are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 2 bytes.
    Two,
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

/// A jump whose target is not yet known.
#[derive(Debug)]
#[must_use = "a jump needs somewhere to go"]
pub struct Label(usize);

/// A program under construction.
#[derive(Clone, Debug, Default)]
pub struct Program {
    code: Vec<[u8; 8]>,
    /// Indices of jumps to the end.
    leaving: Vec<usize>,
}

const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const COPY: u8 = 0xbf;
const SET: u8 = 0xb7;
const ADD: u8 = 0x07;
const AND: u8 = 0x57;
const JUMP_EQUAL: u8 = 0x15;
const JUMP_NOT_EQUAL: u8 = 0x55;
/// Compares with a register instead of a number.
const WITH_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

impl Width {
    /// Bits to add to the code of a four-byte load or store.
    fn bits(self) -> u8 {
        match self {
            Width::Four => 0x00,
            Width::Two => 0x08,
            Width::Eight => 0x18,
        }
    }
}

impl Program {
    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, number: i32) {
        let [first, second] = offset.to_ne_bytes();
        let [a, b, c, d] = number.to_ne_bytes();
        // Two bit fields of one byte, in the machine's order.
        let registers = match cfg!(target_endian = "little") {
            true => (to as u8) | ((from as u8) << 4),
            false => (from as u8) | ((to as u8) << 4),
        };
        self.code.push([code, registers, first, second, a, b, c, d]);
    }

    /// `to = *(from + offset)`
    pub fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.push(LOAD | width.bits(), to, from, offset, 0);
    }

    /// `*(to + offset) = from`
    pub fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.push(STORE | width.bits(), to, from, offset, 0);
    }

    /// `to = from`
    pub fn copy(&mut self, to: Register, from: Register) {
        self.push(COPY, to, from, 0, 0);
    }

    /// `to = number`
    pub fn set(&mut self, to: Register, number: i32) {
        self.push(SET, to, Register::R0, 0, number);
    }

    /// `to += number`
    pub fn add(&mut self, to: Register, number: i32) {
        self.push(ADD, to, Register::R0, 0, number);
    }

    /// `to &= number`
    pub fn and(&mut self, to: Register, number: i32) {
        self.push(AND, to, Register::R0, 0, number);
    }

    /// Jumps to the end if the register equals `number`.
    pub fn leave_if(&mut self, register: Register, number: i32) {
        self.leaving.push(self.code.len());
        self.push(JUMP_EQUAL, register, Register::R0, 0, number);
    }

    /// Jumps to the end unless the register equals `number`.
    pub fn leave_unless(&mut self, register: Register, number: i32) {
        self.leaving.push(self.code.len());
        self.push(JUMP_NOT_EQUAL, register, Register::R0, 0, number);
    }

    /// Jumps to the returned label if both registers are equal.
    pub fn skip_if_equal(&mut self, one: Register, other: Register) -> Label {
        let label = Label(self.code.len());
        self.push(JUMP_EQUAL | WITH_REGISTER, one, other, 0, 0);
        label
    }

    /// Makes the current position the target of a label.
    pub fn here(&mut self, label: Label) {
        self.aim(label.0, self.code.len());
    }

    /// Calls a kernel helper by its number.
    pub fn call(&mut self, helper: i32) {
        self.push(CALL, Register::R0, Register::R0, 0, helper);
    }

    fn aim(&mut self, jump: usize, to: usize) {
        let distance = i16::try_from(to.saturating_sub(jump + 1)).unwrap_or(i16::MAX);
        let [first, second] = distance.to_ne_bytes();
        if let Some(code) = self.code.get_mut(jump) {
            code[2] = first;
            code[3] = second;
        }
    }

    /// Returns the whole program, including its end.
    #[must_use]
    pub fn instructions(&self) -> Vec<[u8; 8]> {
        let mut whole = self.clone();
        let end = whole.code.len();
        for jump in &self.leaving {
            whole.aim(*jump, end);
        }
        whole.set(Register::R0, 0);
        whole.push(EXIT, Register::R0, Register::R0, 0, 0);
        whole.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes and registers follow RFC 9669; jumps count from the following instruction, and jumps
    /// to the end lead to where the result is set.
    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_as_an_assembler_has_them() {
        let mut program = Program::default();
        program.load(Width::Eight, Register::R6, Register::R1, 24);
        program.leave_if(Register::R6, 0);
        let label = program.skip_if_equal(Register::R2, Register::R3);
        program.store(Width::Four, Register::R10, -8, Register::R2);
        program.here(label);
        program.load(Width::Two, Register::R2, Register::R6, 4);
        let expected = [
            [0x79, 0x16, 24, 0, 0, 0, 0, 0],
            [0x15, 0x06, 3, 0, 0, 0, 0, 0],
            [0x1d, 0x32, 1, 0, 0, 0, 0, 0],
            [0x63, 0x2a, 0xf8, 0xff, 0, 0, 0, 0],
            [0x69, 0x62, 4, 0, 0, 0, 0, 0],
            [0xb7, 0x00, 0, 0, 0, 0, 0, 0],
            [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(program.instructions(), expected);
    }
}
