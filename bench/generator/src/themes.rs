//! Kinds of directories, and their content.

use std::collections::HashMap;

use crate::pattern::Pattern;

/// A kind of directory, as written in the table.
struct Row {
    name: &'static str,
    /// Number of files: the median, and the spread of its logarithm.
    files: (f64, f64),
    /// Number of patterns that one directory's files use; 0 means all.
    mix: usize,
    /// Names of files, each with its weight after the last blank.
    names: &'static [&'static str],
    /// Sub-directories: weight, theme, name. Those of a theme without sub-directories are leaves.
    dirs: &'static [(u32, &'static str, &'static str)],
    /// Approximate maximum number of entries below one; 0 means unlimited.
    most: f64,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { name: "home", files: (14.0, 0.7), mix: 0, most: 0.0, names: &[
        ".bashrc 3", ".profile 3", ".bash_history 3", ".vimrc 2", ".gitconfig 2", ".viminfo 2", "notes.txt 2", "todo.md 2",
        "{w}.txt 4", "{w}.sh 4", "{w}.py 3", "{w}_{w}.py 2", "{w}.tar.gz 2", "{w}.csv 2", "{w}.log 2", "core.{r5} 1", "slurm-{r7}.out 3"],
        dirs: &[(6, "documents", "Documents"), (4, "downloads", "Downloads"), (5, "cache", ".cache"), (5, "mail", "Maildir"),
            (8, "source", "{w}"), (8, "source", "{w}-{w}"), (5, "python", "{w}_{w}"), (4, "photos", "Pictures"), (6, "papers", "papers"),
            (4, "papers", "thesis"), (4, "run", "runs"), (3, "environment", ".conda"), (3, "bin", "bin"), (6, "work", "{w}_{y}"), (3, "web", "{w}-app")] },
    Row { name: "work", files: (7.0, 1.0), mix: 0, most: 0.0, names: &[
        "{w}.py 6", "{w}_{w}.py 5", "{w}.csv 6", "{w}_{d}.csv 4", "{w}.dat 5", "{w}_{w}.txt 5", "{w}.sh 4", "README 2", "README.md 2",
        "{w}.png 4", "{w}_v{r1}.docx 2", "{w}.xlsx 2", "{w}.h5 2", "{w}.json 3", "Makefile 1", "{w}.ipynb 3", "{o}.txt 1"],
        dirs: &[(8, "work", "{w}"), (7, "work", "{w}_{w}"), (4, "run", "run_{i3}"), (4, "series", "{w}_data"), (4, "plots", "plots"),
            (4, "source", "src"), (3, "source", "{w}-{w}"), (3, "dataset", "data"), (2, "documents", "docs"), (3, "logs", "logs"), (2, "python", "scripts")] },
    Row { name: "source", files: (11.0, 1.0), mix: 0, most: 0.0, names: &[
        "{w}.c 12", "{w}.h 12", "{w}_{w}.c 12", "{w}_{w}.h 10", "{w}.cpp 6", "{w}{W}.cpp 4", "{w}_{w}.f90 5", "{w}.py 3", "{w}.rs 3", "Makefile 4",
        "README.md 3", "LICENSE 1", "CMakeLists.txt 4", "{w}.txt 2", "{w}.in 2", "config.h 1", "{w}.sh 2", "Kconfig 1", ".gitignore 2"],
        dirs: &[(9, "source", "{w}"), (4, "source", "src"), (3, "source", "include"), (4, "source", "{w}_{w}"), (4, "tests", "tests"), (3, "docs", "docs"),
            (3, "build", "build"), (3, "git", ".git"), (2, "python", "tools"), (1, "source", "third_party")] },
    Row { name: "tests", files: (14.0, 0.9), mix: 0, most: 400.0, names: &[
        "test_{w}.py 8", "test_{w}_{w}.c 8", "test_{w}_{w}.py 6", "{w}_test.cpp 5", "{w}.expected 4", "{w}.json 3", "CMakeLists.txt 1"],
        dirs: &[(5, "tests", "{w}"), (3, "fixtures", "fixtures"), (2, "fixtures", "data")] },
    Row { name: "fixtures", files: (16.0, 1.2), mix: 2, most: 0.0, names: &["{w}_{w}.json 4", "case_{i3}.txt 4", "{w}-{i2}.yaml 2", "{w}_{r3}.bin 2"], dirs: &[] },
    Row { name: "docs", files: (12.0, 1.0), mix: 3, most: 500.0, names: &[
        "{w}.md 6", "{w}_{w}.md 4", "{w}.html 4", "{w}-{w}.html 3", "{w}.rst 3", "{w}.svg 1", "{w}.png 2", "index.html 1", "conf.py 1"],
        dirs: &[(4, "docs", "{w}"), (2, "plots", "images"), (2, "docs", "api")] },
    Row { name: "build", files: (18.0, 1.2), mix: 0, most: 3000.0, names: &[
        "{w}.o 9", "{w}_{w}.o 9", "{w}.c.o 5", "{w}_{w}.d 4", "lib{w}.a 2", "lib{w}.so 2", "Makefile 1", "cmake_install.cmake 1", "CMakeCache.txt 1", "{w} 2"],
        dirs: &[(4, "build", "{w}.dir"), (3, "build", "CMakeFiles"), (5, "build", "{w}")] },
    Row { name: "git", files: (9.0, 0.3), mix: 0, most: 900.0, names: &[
        "HEAD 3", "config 3", "index 3", "packed-refs 2", "description 2", "ORIG_HEAD 2", "FETCH_HEAD 2", "COMMIT_EDITMSG 2"],
        dirs: &[(30, "gitobjects", "{x2}"), (1, "packs", "pack"), (2, "refs", "refs-{w}"), (2, "refs", "heads")] },
    Row { name: "gitobjects", files: (4.0, 0.6), mix: 0, most: 0.0, names: &["{x38} 1"], dirs: &[] },
    Row { name: "packs", files: (6.0, 0.8), mix: 0, most: 0.0, names: &["pack-{x40}.pack 1", "pack-{x40}.idx 1"], dirs: &[] },
    Row { name: "refs", files: (4.0, 0.8), mix: 0, most: 0.0, names: &["{w} 2", "{w}-{w} 3", "v{v} 3"], dirs: &[] },
    Row { name: "python", files: (9.0, 1.0), mix: 0, most: 0.0, names: &[
        "__init__.py 5", "{w}.py 14", "{w}_{w}.py 12", "_{w}.py 3", "setup.py 1", "pyproject.toml 1", "{w}.pyi 1", "README.md 1", "requirements.txt 1", "{w}.ipynb 2"],
        dirs: &[(6, "python", "{w}"), (4, "pycache", "__pycache__"), (3, "tests", "tests"), (2, "git", ".git"), (3, "python", "_{w}"), (2, "work", "notebooks")] },
    Row { name: "pycache", files: (9.0, 1.0), mix: 0, most: 0.0, names: &["{w}.cpython-311.pyc 6", "{w}_{w}.cpython-311.pyc 5", "__init__.cpython-311.pyc 2"], dirs: &[] },
    Row { name: "web", files: (9.0, 0.5), mix: 0, most: 30000.0, names: &["package.json 2", "package-lock.json 2", "{w}.js 3", "{w}.ts 4", "{w}.css 2", "index.html 1", ".env 1"],
        dirs: &[(12, "modules", "node_modules"), (3, "source", "src"), (1, "plots", "public"), (1, "git", ".git")] },
    Row { name: "modules", files: (1.0, 0.5), mix: 0, most: 30000.0, names: &[".package-lock.json 1", ".yarn-integrity 1"],
        dirs: &[(9, "module", "{w}-{w}"), (6, "module", "{w}"), (4, "module", "is-{w}"), (3, "module", "@{w}"), (3, "module", "{w}.js")] },
    Row { name: "module", files: (6.0, 0.7), mix: 0, most: 60.0, names: &[
        "package.json 4", "index.js 4", "README.md 3", "LICENSE 3", "index.d.ts 3", "{w}.js 5", "{w}.js.map 3", "{w}{W}.js 4", "CHANGELOG.md 1"],
        dirs: &[(4, "module", "lib"), (4, "module", "dist"), (2, "module", "src"), (2, "module", "cjs"), (1, "module", "node_modules")] },
    Row { name: "run", files: (12.0, 1.0), mix: 0, most: 0.0, names: &[
        "{s}.{i6}.vtu 8", "{s}_{i5}.h5 6", "restart_{i6}.h5 3", "slurm-{r7}.out 4", "slurm-{r7}.err 2", "input.nml 2", "job.sh 2", "{s}.log 2", "stdout.{i4} 3", "params.json 1", "{w}.dat 3"],
        dirs: &[(12, "run", "run_{i3}"), (8, "run", "case_{w}_{i2}"), (6, "series", "output"), (4, "series", "restart"), (4, "plots", "plots"), (3, "logs", "logs"),
            (3, "run", "{w}_{v}"), (2, "series", "frames"), (3, "training", "train_{d}")] },
    Row { name: "series", files: (60.0, 1.6), mix: 1, most: 0.0, names: &[
        "{s}_{i6}.dat 5", "{s}.{i6}.vtu 5", "{s}_{i5}.h5 4", "{s}-{i4}.nc 4", "frame_{i6}.png 3", "checkpoint_{i5}.bin 3", "rank{i4}.out 3", "{s}.{i7} 2", "part-{i5}.parquet 2"], dirs: &[] },
    Row { name: "training", files: (14.0, 0.9), mix: 0, most: 300.0, names: &[
        "model_epoch_{i3}.pt 5", "events.out.tfevents.{r10}.node{i2}.{r5}.0 3", "config.yaml 1", "metrics.json 1", "{w}.npy 3", "sample_{i4}.png 4"],
        dirs: &[(3, "series", "samples"), (2, "training", "fold_{i1}")] },
    Row { name: "plots", files: (16.0, 1.1), mix: 3, most: 0.0, names: &["{w}_{i3}.png 5", "{w}_{w}.png 5", "{w}.pdf 3", "fig{i2}.pdf 3", "{w}_{w}.svg 2", "{w}-{d}.png 2"], dirs: &[] },
    Row { name: "dataset", files: (30.0, 1.6), mix: 2, most: 0.0, names: &[
        "{w}_{d}.csv 4", "part-{i5}.parquet 4", "tile_{r3}_{r3}.tif 3", "chunk_{i6}.npz 4", "{w}_{d}.nc 4", "{s}_{i4}_R1.fastq.gz 3", "{s}_{i4}_R2.fastq.gz 3",
        "{s}_{i4}.sorted.bam 2", "{s}_{i4}.vcf.gz 2", "{x32}.jpg 3", "{w}_{r8}.json 2", "README 1", "md5sums.txt 1"],
        dirs: &[(7, "dataset", "sub-{i3}"), (4, "dataset", "{y}"), (4, "dataset", "{w}"), (4, "series", "{d}"), (3, "photos", "images"), (2, "plots", "qc"), (3, "dataset", "batch_{i2}"), (3, "samples", "shard-{i4}")] },
    Row { name: "samples", files: (220.0, 1.3), mix: 1, most: 0.0, names: &["{r8}.jpg 3", "{x32}.npy 2", "{s}_{r6}.json 2", "{i8}.bin 2"], dirs: &[] },
    Row { name: "photos", files: (45.0, 1.1), mix: 2, most: 2000.0, names: &["IMG_{i4}.JPG 6", "DSC{i5}.JPG 4", "{d}_{r6}.jpg 4", "MVI_{r4}.MP4 1", "Screenshot {d}-{r6}.png 2"],
        dirs: &[(4, "photos", "{y}"), (3, "photos", "{W} {y}"), (2, "photos", "{d} {w}")] },
    Row { name: "documents", files: (9.0, 1.0), mix: 0, most: 2500.0, names: &[
        "{W} {W}.docx 6", "{W}_{y}.xlsx 6", "{W} {y} final.pptx 3", "{w}-{w}.pdf 6", "scan{i4}.pdf 4", "{o}.pdf 2", "{o} {y}.docx 2", "{W} ({r1}).pdf 3", "~${w}.docx 1", "Thumbs.db 1", "{n}-{y}.pdf 2"],
        dirs: &[(6, "documents", "{W}"), (4, "documents", "{y}"), (3, "documents", "{W} {W}"), (1, "documents", "{o}"), (2, "photos", "{W} {y}")] },
    Row { name: "downloads", files: (40.0, 1.2), mix: 0, most: 800.0, names: &[
        "{w}-{v}.tar.gz 5", "{w}_{w}.pdf 6", "{r4}.{r5}v{r1}.pdf 5", "{w}.zip 4", "{w} ({r1}).pdf 3", "{p}-{v}.iso 1", "{w}.csv 2", "IMG_{r4}.jpg 3"],
        dirs: &[(4, "source", "{p}-{v}"), (2, "documents", "{W}")] },
    Row { name: "papers", files: (14.0, 0.8), mix: 0, most: 700.0, names: &[
        "main.tex 2", "{w}.tex 5", "refs.bib 2", "{n}{y}.pdf 6", "{n}_{w}_{y}.pdf 6", "fig{i2}.pdf 4", "{w}.bbl 1", "{w}.aux 2", "{w}.log 2", "response_{w}.docx 1"],
        dirs: &[(5, "papers", "{w}{y}"), (4, "plots", "figures"), (3, "papers", "{n}_{y}")] },
    Row { name: "mail", files: (3.0, 0.5), mix: 0, most: 9000.0, names: &["dovecot.index.log 1", "dovecot-uidlist 1", "subscriptions 1", "maildirfolder 1"],
        dirs: &[(5, "letters", "cur"), (2, "letters", "new"), (4, "mail", ".{W}"), (3, "mail", ".{W}.{W}")] },
    Row { name: "letters", files: (150.0, 1.5), mix: 0, most: 0.0, names: &["1{r9}.M{r6}P{r5}.mail{r1}:2,S 6", "1{r9}.M{r6}P{r5}.mail{r1}:2,S 1"], dirs: &[] },
    Row { name: "cache", files: (5.0, 1.0), mix: 0, most: 6000.0, names: &["{w}.db 2", "CACHEDIR.TAG 1", "{w}-{w}.json 2", "index 2"],
        dirs: &[(8, "cached", "{x2}"), (3, "cache", "{w}"), (3, "cache", "{w}-{w}"), (1, "cache", "pip")] },
    Row { name: "cached", files: (6.0, 1.2), mix: 1, most: 0.0, names: &["{x40} 3", "{x32}.cache 2", "{x62} 1"], dirs: &[] },
    Row { name: "logs", files: (22.0, 1.3), mix: 2, most: 0.0, names: &["{w}.log 3", "{w}.log.{i1}.gz 3", "{w}-{d}.log 5", "{s}.{r7}.out 3", "{s}.{r7}.err 2"], dirs: &[] },
    Row { name: "prefix", files: (2.0, 0.7), mix: 0, most: 0.0, names: &["README 1", "LICENSE 1", "setvars.sh 1", "manifest.json 1", ".spack 1"],
        dirs: &[(6, "bin", "bin"), (9, "libraries", "lib"), (4, "libraries", "lib64"), (6, "headers", "include"), (8, "share", "share"), (3, "bin", "sbin"), (3, "docs", "doc"),
            (3, "source", "src"), (2, "libraries", "libexec")] },
    Row { name: "package", files: (0.4, 0.3), mix: 0, most: 0.0, names: &["modulefile.lua 1"], dirs: &[(1, "prefix", "{v}")] },
    Row { name: "environment", files: (3.0, 0.5), mix: 0, most: 25000.0, names: &["environments.txt 1", ".condarc 1", "history 1"], dirs: &[(3, "prefix", "{w}"), (2, "prefix", "{w}-{v}"), (2, "cache", "pkgs")] },
    Row { name: "bin", files: (26.0, 1.2), mix: 0, most: 0.0, names: &["{w} 8", "{w}-{w} 8", "{w}{w} 3", "{p} 1", "{w}.sh 1", "lib{w}-config 1"], dirs: &[] },
    Row { name: "libraries", files: (16.0, 1.1), mix: 0, most: 0.0, names: &["lib{w}.so 6", "lib{w}.so.{v} 6", "lib{w}.a 4", "lib{w}_{w}.so 4", "lib{w}.la 1", "{w}.o 1", "{w}.pc 1"],
        dirs: &[(3, "libraries", "{p}"), (6, "sitepackages", "site-packages"), (4, "libraries", "{w}"), (2, "configs", "pkgconfig"), (3, "configs", "cmake")] },
    Row { name: "sitepackages", files: (5.0, 1.0), mix: 0, most: 15000.0, names: &["{w}.py 3", "{w}.pth 1", "_{w}.so 2", "six.py 1"],
        dirs: &[(12, "python", "{w}"), (6, "python", "{w}{w}"), (8, "distinfo", "{w}-{v}.dist-info")] },
    Row { name: "distinfo", files: (6.0, 0.2), mix: 0, most: 0.0, names: &["METADATA 1", "RECORD 1", "WHEEL 1", "INSTALLER 1", "top_level.txt 1", "entry_points.txt 1", "LICENSE 1"], dirs: &[] },
    Row { name: "configs", files: (8.0, 0.8), mix: 0, most: 0.0, names: &["{w}.pc 3", "{W}Config.cmake 4", "{W}Targets.cmake 3", "{w}-config-version.cmake 2"], dirs: &[] },
    Row { name: "headers", files: (24.0, 1.1), mix: 0, most: 0.0, names: &["{w}.h 9", "{w}_{w}.h 9", "{w}.hpp 4", "{w}{W}.h 3", "{w}.mod 2"], dirs: &[(5, "headers", "{w}"), (3, "headers", "{w}_{w}"), (2, "headers", "detail")] },
    Row { name: "share", files: (3.0, 0.9), mix: 0, most: 0.0, names: &["{w}.txt 2", "{w}.xml 1", "{w}.dat 1"],
        dirs: &[(4, "manual", "man1"), (3, "manual", "man3"), (6, "locale", "locale-{i2}"), (4, "docs", "doc"), (4, "examples", "examples"), (3, "share", "{p}"), (2, "share", "{w}")] },
    Row { name: "manual", files: (40.0, 1.3), mix: 1, most: 0.0, names: &["{w}-{w}.1.gz 3", "{w}_{w}.3.gz 3", "{w}_{w}_{w}.3.gz 3"], dirs: &[] },
    Row { name: "locale", files: (3.0, 0.6), mix: 0, most: 0.0, names: &["{p}.mo 3", "{w}.mo 3"], dirs: &[] },
    Row { name: "examples", files: (9.0, 0.9), mix: 0, most: 600.0, names: &["{w}.py 4", "{w}.c 4", "{w}_{w}.f90 3", "README.md 2", "{w}.dat 2", "in.{w} 2"], dirs: &[(5, "examples", "{w}"), (3, "examples", "{w}_{w}")] },
];

/// The number of a theme: an index into [`Themes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThemeId(usize);

/// A kind of directory.
pub(crate) struct Theme {
    pub(crate) files: (f64, f64),
    pub(crate) mix: usize,
    pub(crate) names: Weighted<Pattern>,
    pub(crate) dirs: Weighted<(Pattern, ThemeId)>,
    pub(crate) most: Option<f64>,
}

/// Elements drawn with different frequencies.
pub(crate) struct Weighted<T> {
    things: Vec<T>,
    /// Cumulative sums of the weights.
    sums: Vec<u64>,
}

impl<T> Weighted<T> {
    fn new(weighted: Vec<(u64, T)>) -> Weighted<T> {
        let mut sum = 0;
        let add = |(weight, thing)| {
            sum += weight;
            (sum, thing)
        };
        let (sums, things) = weighted.into_iter().map(add).unzip();
        Weighted { things, sums }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.things
    }

    /// Draws the index of an element; there must be at least one.
    pub(crate) fn draw(&self, random: &mut crate::random::Random) -> usize {
        let at = random.below(self.sums.last().copied().unwrap_or(0));
        self.sums.iter().take_while(|sum| **sum <= at).count()
    }
}

/// All kinds of directories.
pub(crate) struct Themes(Vec<Theme>);

impl Themes {
    /// Builds the themes from the table.
    ///
    /// # Errors
    /// A description of a fault in the table.
    pub(crate) fn new() -> Result<Themes, String> {
        let ids: HashMap<&str, ThemeId> = ROWS
            .iter()
            .enumerate()
            .map(|(at, row)| (row.name, ThemeId(at)))
            .collect();
        ROWS.iter()
            .map(|row| theme(row, &ids))
            .collect::<Result<_, _>>()
            .map(Themes)
    }

    pub(crate) fn get(&self, id: ThemeId) -> &Theme {
        &self.0[id.0]
    }

    /// Finds a theme by name.
    ///
    /// # Errors
    /// If there is no such theme.
    pub(crate) fn named(&self, name: &str) -> Result<ThemeId, String> {
        let at = ROWS.iter().position(|row| row.name == name);
        at.map(ThemeId).ok_or_else(|| format!("no theme {name}"))
    }
}

fn theme(row: &Row, ids: &HashMap<&str, ThemeId>) -> Result<Theme, String> {
    let names = row.names.iter().map(|name| {
        let (pattern, weight) = name.rsplit_once(' ').ok_or(format!("{name}: no weight"))?;
        let weight = weight.parse().map_err(|_| format!("{name}: no weight"))?;
        Ok((weight, Pattern::parse(pattern)?))
    });
    let dirs = row.dirs.iter().map(|(weight, theme, pattern)| {
        let id = ids.get(theme).ok_or(format!("no theme {theme}"))?;
        Ok((u64::from(*weight), (Pattern::parse(pattern)?, *id)))
    });
    Ok(Theme {
        files: row.files,
        mix: row.mix,
        names: Weighted::new(names.collect::<Result<_, String>>()?),
        dirs: Weighted::new(dirs.collect::<Result<_, String>>()?),
        most: (row.most > 0.0).then_some(row.most),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_table_is_whole() {
        let themes = Themes::new().unwrap();
        assert!(themes.0.iter().all(|theme| !theme.names.is_empty()));
    }

    #[test]
    fn weights_count() {
        let weighted = Weighted::new(vec![(1, 'a'), (0, 'b'), (3, 'c')]);
        let mut random = Random::new(1);
        let mut counts = [0; 3];
        for _ in 0..4000 {
            counts[weighted.draw(&mut random)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((900..1100).contains(&counts[0]), "{counts:?}");
    }
}
