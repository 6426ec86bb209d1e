//! The directives of `-printf`: one variant, and one arm in each `match`.

use std::borrow::Cow;
use std::fmt::Write as _;

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType, Timestamp};
use trawl_text::{mode, strftime, time_style};

use super::Field;
use crate::age::Which;
use crate::base_name::{base_name, leading};
use crate::context::Context;
use crate::leaf::Facts;
use crate::probe::Target;

/// A directive. The letters are GNU find's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `%a`, `%c`, `%t`: a time in the format of ctime(3), with fractions of a
    /// second.
    Ctime(Which),
    /// `%Ak`, `%Bk`, `%Ck`, `%Tk`.
    Time(Which, Moment),
    /// `%b`: 512-byte blocks.
    Blocks,
    /// `%d`
    Depth,
    /// `%D`: device number.
    Device,
    /// `%f`: base name.
    Name,
    /// `%F`: file system type.
    FileSystem,
    /// `%g`: group name or ID.
    Group,
    /// `%G`
    GroupId,
    /// `%h`: the path before the base name.
    Leading,
    /// `%H`: start point.
    Start,
    /// `%i`
    Inode,
    /// `%k`: blocks of 1 KiB.
    Kibibytes,
    /// `%l`: target of the symbolic link.
    LinkTarget,
    /// `%m`: permission bits, octal.
    Mode,
    /// `%M`: `-rw-r--r--`.
    Symbolic,
    /// `%n`
    Links,
    /// `%p`
    Path,
    /// `%P`: path below the start point.
    Below,
    /// `%s`
    Size,
    /// `%S`: allocated bytes divided by the size.
    Sparseness,
    /// `%u`: user name or ID.
    User,
    /// `%U`
    UserId,
    /// `%y`: letter of the type.
    Type,
    /// `%Y`: letter of the type, links followed.
    TargetType,
    /// `%Z`: security context.
    Context,
    /// `%{score}`: how well the content matches; Trawl's own.
    Score,
}

/// The part of a time that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// `@`: seconds since 1970 with fractions.
    Seconds,
    /// `+`: date, a plus sign and the time with fractions.
    DateAndTime,
    /// A letter of strftime(3); `S`, `T` and `X` with fractions.
    Strftime(char),
}

impl Directive {
    /// Returns the directive of a letter.
    pub fn from_letter(letter: u8) -> Option<Directive> {
        Some(match letter {
            b'a' => Directive::Ctime(Which::Access),
            b'b' => Directive::Blocks,
            b'c' => Directive::Ctime(Which::Change),
            b'd' => Directive::Depth,
            b'D' => Directive::Device,
            b'f' => Directive::Name,
            b'F' => Directive::FileSystem,
            b'g' => Directive::Group,
            b'G' => Directive::GroupId,
            b'h' => Directive::Leading,
            b'H' => Directive::Start,
            b'i' => Directive::Inode,
            b'k' => Directive::Kibibytes,
            b'l' => Directive::LinkTarget,
            b'm' => Directive::Mode,
            b'M' => Directive::Symbolic,
            b'n' => Directive::Links,
            b'p' => Directive::Path,
            b'P' => Directive::Below,
            b's' => Directive::Size,
            b'S' => Directive::Sparseness,
            b't' => Directive::Ctime(Which::Modification),
            b'u' => Directive::User,
            b'U' => Directive::UserId,
            b'y' => Directive::Type,
            b'Y' => Directive::TargetType,
            b'Z' => Directive::Context,
            _ => return None,
        })
    }

    /// Returns the directive of `A`, `B`, `C` or `T` and the letter after it.
    pub fn of_time(letter: u8, kind: u8) -> Option<Directive> {
        let which = match letter {
            b'A' => Which::Access,
            b'B' => Which::Birth,
            b'C' => Which::Change,
            b'T' => Which::Modification,
            _ => return None,
        };
        let moment = match kind {
            b'@' => Moment::Seconds,
            b'+' => Moment::DateAndTime,
            other => Moment::Strftime(char::from(other)),
        };
        Some(Directive::Time(which, moment))
    }

    /// The columns that it reads.
    pub fn columns(self) -> ColumnSet {
        use Column as C;
        ColumnSet::of(match self {
            Directive::Ctime(which) | Directive::Time(which, _) => return which.columns(),
            Directive::Blocks | Directive::Kibibytes => &[C::Blocks],
            Directive::Depth | Directive::Start => &[],
            Directive::Device | Directive::FileSystem => &[C::Dev],
            Directive::Name | Directive::Leading | Directive::Path | Directive::Below => &[C::Name],
            Directive::Context => &[C::Name],
            Directive::Group | Directive::GroupId => &[C::Gid],
            // The inode number in a directory's entry is not that of a file
            // system mounted there. Reading the device makes the search look at
            // the entry.
            Directive::Inode => &[C::Ino, C::Dev],
            Directive::LinkTarget => &[C::Mode, C::LinkTarget],
            Directive::Mode | Directive::Symbolic | Directive::Type => &[C::Mode],
            Directive::TargetType => &[C::Mode, C::Name],
            Directive::Links => &[C::Nlink],
            Directive::Size => &[C::Size],
            Directive::Sparseness => &[C::Size, C::Blocks],
            Directive::User | Directive::UserId => &[C::Uid],
            Directive::Score => return crate::questions::COLUMNS,
        })
    }

    /// The facts that it needs about an entry.
    pub fn facts(self) -> Facts {
        match self {
            Directive::Depth
            | Directive::Name
            | Directive::Leading
            | Directive::Path
            | Directive::Below
            | Directive::Start
            | Directive::Context => Facts::Name,
            Directive::Inode => Facts::Number,
            Directive::Type => Facts::Type,
            _ => Facts::Attributes,
        }
    }

    /// Prints the directive for a row.
    pub fn print(self, field: Field, row: &Row<'_>, cx: &mut Context<'_>) {
        match self {
            Directive::Depth => field.push_decimal(&mut cx.out.bytes, cx.depth as u64),
            Directive::Mode => {
                field.push_octal(&mut cx.out.bytes, row.mode() & mode::ALL_BITS);
            }
            Directive::Sparseness => field.push_general(&mut cx.out.bytes, sparseness(row)),
            Directive::Symbolic => {
                field.push_text(&mut cx.out.bytes, &mode::render(row.mode()));
            }
            Directive::Name
            | Directive::Leading
            | Directive::Path
            | Directive::Below
            | Directive::Start
            | Directive::LinkTarget => self.print_name(field, row, cx),
            Directive::Ctime(_) | Directive::Time(..) => {
                let text = self.time_text(row, cx);
                field.push_text(&mut cx.out.bytes, text.as_bytes());
            }
            Directive::Context => complain_of_context(field, row, cx),
            _ => self.print_attribute(field, row, cx),
        }
    }

    /// Prints a directive that holds a name, without control characters on a
    /// terminal.
    fn print_name(self, field: Field, row: &Row<'_>, cx: &mut Context<'_>) {
        let terminal = cx.terminal;
        let target;
        let text = match self {
            Directive::Start => &cx.start.spelled,
            Directive::LinkTarget => {
                target = link_target(row, cx);
                &*target
            }
            Directive::Name => base_name(cx.path(row)),
            Directive::Leading => leading(cx.path(row)),
            Directive::Below => cx.path_below_start(row),
            _ => cx.path(row),
        };
        let shown = terminal.show(text).into_owned();
        field.push_text(&mut cx.out.bytes, &shown);
    }

    /// Prints a directive that is a number or a word of the entry's attributes.
    fn print_attribute(self, field: Field, row: &Row<'_>, cx: &mut Context<'_>) {
        let world = cx.world;
        let owners = &world.owners;
        let text = match self {
            Directive::Blocks => row.blocks().to_string(),
            Directive::Kibibytes => row.blocks().div_ceil(2).to_string(),
            Directive::Device => row.dev().as_u64().to_string(),
            Directive::Score => format!("{:.3}", crate::questions::score(row, cx)),
            Directive::FileSystem => cx.world.file_systems.kind(row.dev()).to_owned(),
            Directive::Inode => row.ino().to_string(),
            Directive::Links => row.nlink().to_string(),
            Directive::Size => row.size().to_string(),
            Directive::UserId => row.uid().to_string(),
            Directive::GroupId => row.gid().to_string(),
            Directive::User => match owners.user(row.uid()) {
                Some(name) => return field.push_text(&mut cx.out.bytes, &name),
                None => row.uid().to_string(),
            },
            Directive::Group => match owners.group(row.gid()) {
                Some(name) => return field.push_text(&mut cx.out.bytes, &name),
                None => row.gid().to_string(),
            },
            Directive::TargetType => char::from(target_type(row, cx)).to_string(),
            _ => char::from(row.file_type().letter()).to_string(),
        };
        field.push_text(&mut cx.out.bytes, text.as_bytes());
    }

    fn time_text(self, row: &Row<'_>, cx: &Context<'_>) -> String {
        let mut out = String::new();
        match self {
            Directive::Ctime(which) => {
                if let Some(time) = which.of(row) {
                    time_style::ctime(&mut out, time, &cx.world.zone);
                }
            }
            Directive::Time(which, moment) => {
                if let Some(time) = which.of(row) {
                    moment.push(&mut out, time, cx);
                }
            }
            _ => {}
        }
        out
    }
}

impl Moment {
    fn push(self, out: &mut String, time: Timestamp, cx: &Context<'_>) {
        let zone = &cx.world.zone;
        let calendar = |out: &mut String, format: &str| {
            strftime::format(out, format, &zone.civil(time.secs), zone);
        };
        match self {
            Moment::Seconds => out.push_str(&time.secs.to_string()),
            Moment::DateAndTime => calendar(out, "%F+%T"),
            Moment::Strftime(letter @ ('S' | 'T' | 'X')) => calendar(out, &format!("%{letter}")),
            Moment::Strftime(letter) => return calendar(out, &format!("%{letter}")),
        }
        // GNU find prints this last zero, for scripts that count columns.
        let _ = write!(out, ".{:09}0", time.nanos);
    }
}

/// Returns the target of a link; empty if the entry is not a link or cannot be
/// read.
fn link_target<'r>(row: &Row<'r>, cx: &mut Context<'_>) -> Cow<'r, [u8]> {
    match row.file_type() {
        FileType::Symlink => {
            let told = |cx: &mut Context<'_>, error| cx.cannot_look(row, error);
            cx.link_target(row, told).unwrap_or_default()
        }
        _ => Cow::default(),
    }
}

/// Allocated bytes divided by the size, as GNU find defines it.
fn sparseness(row: &Row<'_>) -> f64 {
    match (row.size(), row.blocks()) {
        (0, 0) => 1.0,
        (0, _) => f64::INFINITY,
        (size, blocks) => 512.0 * blocks as f64 / size as f64,
    }
}

/// Returns the letter of the type after following links. The probe follows
/// them: `N` if the target does not exist, `L` for a loop, `?` if it cannot be
/// looked at. In that case the reason goes to standard error, and the exit code
/// does not change.
fn target_type(row: &Row<'_>, cx: &mut Context<'_>) -> u8 {
    if row.file_type() != FileType::Symlink {
        return row.file_type().letter();
    }
    let path = cx.path(row).to_vec();
    match cx.probe.target(row, &path) {
        Target::Is(kind) => kind.letter(),
        Target::Missing => b'N',
        Target::Loop => b'L',
        Target::Unknown(cause) => {
            let quoted = trawl_text::quote::message(&path, cx.world.locale);
            cx.mention(&format!("{quoted}: {}", cause.0));
            b'?'
        }
    }
}

/// Reports that there is no security context: the index does not store any, and
/// GNU find prints the same message where the kernel has none.
fn complain_of_context(field: Field, row: &Row<'_>, cx: &mut Context<'_>) {
    let locale = cx.world.locale;
    let path = trawl_text::quote::message(cx.path(row), locale);
    cx.complain(&format!("getfilecon failed: {path}: No data available"));
    field.push_text(&mut cx.out.bytes, b"");
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_on, run_words};

    /// Expected values were printed by GNU find for such an entry.
    #[test]
    fn directives_print_what_find_prints() {
        let spec = Spec {
            size: 1,
            blocks: 8,
            ino: 42,
            dev: 65_024,
            nlink: 3,
            ..Spec::named("n").mtime_ago(0)
        };
        for (format, expected) in [
            ("%p|%P|%H|%h|%f|%d", "./top/n|top/n|.|./top|n|2"),
            ("%5d|%-5d|%05d|%+d|% d", "    2|2    |00002|+2| 2"),
            ("%#m|%06m|%m", "0644|000644|644"),
            ("%.2f|%3f|%03f|%-3f|", "n|  n|  n|n  |"),
            ("%b %k %s %S %n %i %D", "8 4 1 4096 3 42 65024"),
            ("%.2S|%8S|%-8S|", "4.1e+03|    4096|4096    |"),
            ("%05n|%5n|%.0n|", "    3|    3||"),
            ("%u %U %g %G", "root 0 root 0"),
            ("%y%Y|%l|%M|%.4M", "ff||-rw-r--r--|-rw-"),
            ("%t", "Tue Nov 14 22:13:20.0000000050 2023"),
            ("%T@ %Ts", "1700000000.0000000050 1700000000"),
            ("%T+", "2023-11-14+22:13:20.0000000050"),
            (
                "%TS %TT %TX",
                "20.0000000050 22:13:20.0000000050 22:13:20.0000000050",
            ),
            (
                "%Tc|%Tr|%Tx",
                "Tue Nov 14 22:13:20 2023|10:13:20 PM|11/14/23",
            ),
            ("%Tq %T%", "%q %"),
            ("%B@|%BY|", "||"),
        ] {
            let run = run_words(&["-printf", format], &spec);
            assert_eq!(String::from_utf8_lossy(&run.printed), expected, "{format}");
        }
    }

    #[test]
    fn odd_numbers_are_printed() {
        let empty = Spec {
            size: 0,
            blocks: 1,
            ..Spec::named("n")
        };
        assert_eq!(run_on("-printf %S,%k", &empty).printed, b"inf,1");
        let far = Spec::named("n").mtime_ago(i64::MAX);
        assert!(!run_on("-printf %t%T+%Tc%TG", &far).printed.is_empty());
        let run = run_on("-printf %Z", &Spec::named("n"));
        assert_eq!(
            run.complaints,
            "getfilecon failed: ‘./top/n’: No data available\n".as_bytes()
        );
    }
}
