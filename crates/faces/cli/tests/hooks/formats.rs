//! Real files of each format.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use trawl_hooks::Value;
use trawl_testkit::skip::without_program;

use crate::site::{Site, attribute, expect_number, expect_text, expect_words, texts};

#[test]
fn text_is_decoded() {
    let site = Site::new();
    let text = "Съешь же ещё этих мягких французских булок, да выпей чаю.\n";
    for (encoding, name) in [
        ("utf-8", "UTF-8"),
        ("utf-16", "UTF-16LE"),
        ("cp1251", "windows-1251"),
        ("koi8-r", "KOI8-U"),
    ] {
        let program =
            format!("import sys; open(sys.argv[1], 'wb').write({text:?}.encode({encoding:?}))");
        let found = site.well_found(&site.python("a.txt", &program));
        assert_eq!(found.text, text, "{encoding}");
        expect_text(&found, "encoding", name);
        expect_number(&found, "lines", 1);
    }
}

/// "we implemented a simple C/C++-language parser to extract function names" (Propeller, section
/// 4.1): the names that universal-ctags finds.
#[test]
fn functions_and_types_are_those_that_ctags_finds() {
    if let Some(skip) = without_program("symbols beside ctags", "ctags") {
        return skip.say();
    }
    let site = Site::new();
    let c = "#include <stdio.h>\n#include \"own/part.h\"\n\
             struct point { int x; };\nenum colour { RED };\ntypedef struct point place;\n\
             static int *first(struct point *p) { return &p->x; }\n\
             int second(void)\n{\n\treturn first(0) ? 1 : puts(\"third()\");\n}\n";
    let rust = "use std::fmt;\npub struct Point { x: u8 }\nenum Colour { Red }\ntrait Shape { }\n\
                impl Point { fn first(&self) -> u8 { self.x } }\n\
                fn second() { let _ = \"fn third() {}\"; }\n";
    let python = "import os\nclass Point:\n    def first(self):\n        return os.getpid()\n\n\
                  def second():\n    '''def third()'''\n";
    let java = "class Point { int first() { return 1; } }\ninterface Shape { void second(); }\n";
    let go = "package main\ntype Point struct { x int }\nfunc (p Point) first() int { return p.x }\n\
              func second() {}\n";
    for (name, source, functions, types) in [
        ("a.c", c, "--kinds-C=f", "--kinds-C=sgt"),
        ("a.rs", rust, "--kinds-Rust=fP", "--kinds-Rust=sgi"),
        ("a.py", python, "--kinds-Python=fm", "--kinds-Python=c"),
        ("A.java", java, "--kinds-Java=m", "--kinds-Java=ci"),
        ("a.go", go, "--kinds-Go=f", "--kinds-Go=s"),
    ] {
        let found = site.well_found(&site.write(name, source));
        for (attribute, kinds) in [("function", functions), ("type", types)] {
            let printed = site.tool(&format!("ctags -x {kinds} {name}")).text();
            let words = printed
                .lines()
                .filter_map(|line| line.split_whitespace().next());
            let expected: BTreeSet<String> = words.map(str::to_owned).collect();
            assert!(!expected.is_empty(), "{name}: {printed}");
            let own: BTreeSet<String> = texts(&found, attribute).into_iter().collect();
            assert_eq!(own, expected, "{name}: {attribute}");
        }
    }
    let found = site.well_found(&site.write("a.c", c));
    let included: Vec<&str> = found
        .relations
        .iter()
        .map(|one| one.target.as_str())
        .collect();
    assert_eq!(included, ["own/part.h", "stdio.h"]);
}

#[test]
fn the_words_of_a_pdf_are_those_that_pdftotext_finds() {
    for program in ["groff", "gs", "pdftotext"] {
        if let Some(skip) = without_program("PDF beside pdftotext", program) {
            return skip.say();
        }
    }
    let site = Site::new();
    let words: Vec<String> = (0..600).map(|number| format!("word{number}")).collect();
    site.write(
        "a.ms",
        format!(".TL\nThe title\n.PP\n{}\n", words.join("\n")),
    );
    site.tool(
        "groff -ms -Tps a.ms > a.ps; gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile=a.pdf \
         -c '[ /Title (About words) /Author (A. Writer) /DOCINFO pdfmark' -f a.ps; \
         pdftotext a.pdf a.txt",
    );
    let found = site.well_found(&site.path("a.pdf"));
    let expected = std::fs::read_to_string(site.path("a.txt")).expect("text");
    let set =
        |text: &str| -> BTreeSet<String> { text.split_whitespace().map(str::to_owned).collect() };
    let (own, expected) = (set(&found.text), set(&expected));
    let missing: Vec<_> = expected.difference(&own).collect();
    assert!(missing.is_empty(), "{missing:?}");
    expect_text(&found, "title", "About words");
    expect_text(&found, "author", "A. Writer");
    let pages = site.tool("pdfinfo a.pdf | sed -n 's/^Pages: *//p'").text();
    expect_number(&found, "pages", pages.trim().parse().expect("a number"));
}

const CORE: &str = "<cp:coreProperties xmlns:cp='c' xmlns:dc='d' xmlns:dcterms='t'>\
    <dc:title>R&amp;D report</dc:title><dc:creator>Ada</dc:creator>\
    <dcterms:created>2024-01-02T03:04:05Z</dcterms:created></cp:coreProperties>";

#[test]
fn office_documents_have_text_and_properties() {
    let site = Site::new();
    let word = "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>Solid</w:t></w:r><w:r><w:t>state &lt;3</w:t>\
                </w:r><w:r><w:instrText>HIDDEN</w:instrText></w:r></w:p><w:p><w:r><w:t>drive</w:t>\
                </w:r></w:p></w:body></w:document>";
    let program = |parts: &[(&str, &str)]| {
        let write = |(name, text): &(&str, &str)| format!("z.writestr({name:?}, {text:?})\n");
        let parts: String = parts.iter().map(write).collect();
        format!(
            "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED)\n{parts}z.close()"
        )
    };
    let docx = program(&[("word/document.xml", word), ("docProps/core.xml", CORE)]);
    let found = site.well_found(&site.python("a.docx", &docx));
    assert_eq!(found.text, "Solidstate <3\ndrive\n");
    expect_text(&found, "title", "R&D report");
    expect_text(&found, "author", "Ada");
    // date -d 2024-01-02T03:04:05Z +%s
    assert_eq!(
        attribute(&found, "created"),
        &Value::Time(1_704_164_645_000_000_000)
    );

    let slide =
        |word: &str| format!("<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:t>{word}</a:t></a:p></p:sld>");
    let (second, tenth) = (slide("second"), slide("tenth"));
    let slides = [
        ("ppt/slides/slide10.xml", &tenth[..]),
        ("ppt/slides/slide2.xml", &second[..]),
    ];
    let found = site.well_found(&site.python("a.pptx", &program(&slides)));
    assert_eq!(found.text, "second\ntenth\n");

    let shared = "<sst xmlns='s'><si><t>alpha</t></si><si><t>beta</t></si></sst>";
    let found =
        site.well_found(&site.python("a.xlsx", &program(&[("xl/sharedStrings.xml", shared)])));
    assert_eq!(found.text, "alpha\nbeta\n");

    let content = "<office:document-content xmlns:office='o' xmlns:text='t'><text:p>One<text:s/>two</text:p>\
                   <text:h>three</text:h></office:document-content>";
    let meta = "<office:document-meta xmlns:office='o' xmlns:dc='d' xmlns:meta='m'><dc:title>Odd</dc:title>\
                <meta:document-statistic meta:page-count='7'/></office:document-meta>";
    let odt = program(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("content.xml", content),
        ("meta.xml", meta),
    ]);
    let found = site.well_found(&site.python("a.odt", &odt));
    assert_eq!(found.text, "One two\nthree\n");
    expect_text(&found, "title", "Odd");
    expect_number(&found, "pages", 7);

    let epub = [
        (
            "OEBPS/content.opf",
            "<package xmlns:dc='d'><dc:title>Moby</dc:title></package>",
        ),
        ("OEBPS/1.xhtml", "<html><body><p>Call me</p></body></html>"),
    ];
    let found = site.well_found(&site.python("a.epub", &program(&epub)));
    expect_text(&found, "title", "Moby");
    expect_words(&found, &["Call", "me"]);
}

#[test]
fn web_pages_and_markdown_have_text_and_links() {
    let site = Site::new();
    let page = "<!DOCTYPE html><html lang=en><head><title>A\n page</title><meta name=Author content=Ada>\
                <style>p { color: hidden }</style><script>var hidden</script></head><body><p>So<b>lid</b> \
                <a href='b.html#x'>link</a><img src=c.png><p>caf&eacute;</body></html>";
    let found = site.well_found(&site.write("page", page));
    expect_words(&found, &["Solid", "link", "café"]);
    assert!(!found.text.contains("hidden"), "{:?}", found.text);
    expect_text(&found, "title", "A page");
    expect_text(&found, "author", "Ada");
    expect_text(&found, "language", "en");
    let relations: Vec<(&str, &str)> = found
        .relations
        .iter()
        .map(|one| (&one.kind[..], &one.target[..]))
        .collect();
    assert_eq!(relations, [("links-to", "b.html#x"), ("includes", "c.png")]);

    let markdown = "# The *title*\n\nSome `code` and a [link](b.md).\n\n![picture](c.png)\n";
    let found = site.well_found(&site.write("a.md", markdown));
    expect_text(&found, "title", "The title");
    expect_words(&found, &["code", "link."]);
    let relations: Vec<(&str, &str)> = found
        .relations
        .iter()
        .map(|one| (&one.kind[..], &one.target[..]))
        .collect();
    assert_eq!(relations, [("links-to", "b.md"), ("includes", "c.png")]);
}

#[test]
fn messages_have_correspondents_and_attachments() {
    let site = Site::new();
    let program = "import sys\nfrom email.message import EmailMessage\nm = EmailMessage()\n\
        m['Subject'] = 'Grüße'\nm['From'] = 'Ada <ada@example.org>'\nm['To'] = 'b@example.org, c@example.org'\n\
        m['Date'] = 'Tue, 02 Jan 2024 04:04:05 +0100'\nm.set_content('Schöne Zeilen', cte='base64')\n\
        m.add_attachment(b'x', maintype='application', subtype='pdf', filename='plan.pdf')\n\
        open(sys.argv[1], 'wb').write(bytes(m))";
    let found = site.well_found(&site.python("a.eml", program));
    expect_text(&found, "title", "Grüße");
    assert_eq!(texts(&found, "author"), ["Ada <ada@example.org>"]);
    assert_eq!(texts(&found, "to"), ["b@example.org", "c@example.org"]);
    assert_eq!(texts(&found, "attachment"), ["plan.pdf"]);
    expect_words(&found, &["Schöne", "Zeilen"]);
    assert_eq!(
        attribute(&found, "sent"),
        &Value::Time(1_704_164_645_000_000_000)
    );
}

/// Returns a TIFF structure with these ASCII and rational fields in its EXIF directory (EXIF 2.32,
/// section 4.6), and a maker.
fn exif() -> Vec<u8> {
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    let mut data: Vec<u8> = Vec::new();
    let mut field =
        |directory: &mut Vec<u8>, base: usize, tag: u16, kind: u16, count: u32, value: &[u8]| {
            directory.extend(tag.to_le_bytes());
            directory.extend(kind.to_le_bytes());
            directory.extend(count.to_le_bytes());
            if value.len() <= 4 {
                let mut inline = value.to_vec();
                inline.resize(4, 0);
                directory.extend(inline);
            } else {
                directory.extend(((base + data.len()) as u32).to_le_bytes());
                data.extend(value);
            }
        };
    // Two directories of 3 and 4 fields; then what does not fit into a field.
    let second = 8 + 2 + 3 * 12 + 4;
    let base = second + 2 + 4 * 12 + 4;
    let rational = |a: u32, b: u32| [a.to_le_bytes(), b.to_le_bytes()].concat();
    let mut first = 3u16.to_le_bytes().to_vec();
    field(&mut first, base, 0x010f, 2, 5, b"ACME\0");
    field(&mut first, base, 0x0110, 2, 8, b"Model 7\0");
    field(
        &mut first,
        base,
        0x8769,
        4,
        1,
        &(second as u32).to_le_bytes(),
    );
    first.extend([0; 4]);
    let mut exif = 4u16.to_le_bytes().to_vec();
    field(&mut exif, base, 0x829a, 5, 1, &rational(1, 250));
    field(&mut exif, base, 0x829d, 5, 1, &rational(28, 10));
    field(&mut exif, base, 0x8827, 3, 1, &200u16.to_le_bytes());
    field(&mut exif, base, 0x9003, 2, 20, b"2024:01:02 03:04:05\0");
    exif.extend([0; 4]);
    bytes.extend(first);
    bytes.extend(exif);
    bytes.extend(data);
    bytes
}

/// Returns a grey picture as a baseline JPEG (ITU-T T.81): one component, all coefficients zero, so
/// that each block of 8 by 8 is the two one-bit codes of "difference 0" and "end of block".
fn grey_jpeg(width: u16, height: u16) -> Vec<u8> {
    let segment = |marker: u8, body: &[u8]| {
        let length = (body.len() as u16 + 2).to_be_bytes();
        [&[0xff, marker], &length[..], body].concat()
    };
    let quantization = [&[0][..], &[1; 64]].concat();
    let frame = [
        &[8][..],
        &height.to_be_bytes(),
        &width.to_be_bytes(),
        &[1, 1, 0x11, 0],
    ]
    .concat();
    // One code of one bit, for the value 0.
    let codes = |table: u8| [&[table, 1][..], &[0; 15], &[0]].concat();
    let blocks = usize::from(width.div_ceil(8)) * usize::from(height.div_ceil(8));
    // The rest of the last byte is ones.
    let mut scan = vec![0; (2 * blocks).div_ceil(8)];
    let spare = 8 * scan.len() - 2 * blocks;
    if let Some(last) = scan.last_mut() {
        *last |= (1 << spare) - 1;
    }
    [
        &[0xff, 0xd8][..],
        &segment(0xdb, &quantization),
        &segment(0xc0, &frame),
        &segment(0xc4, &codes(0x00)),
        &segment(0xc4, &codes(0x10)),
        &segment(0xda, &[1, 1, 0, 0, 63, 0]),
        &scan,
        &[0xff, 0xd9],
    ]
    .concat()
}

/// Writes a red picture of 7 by 9 as a PNG (RFC 2083).
const RED_PNG: &str = r#"
import struct, sys, zlib
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
rows = b"".join(b"\0" + b"\xff\0\0" * 7 for _ in range(9))
with open(sys.argv[1], "wb") as png:
    png.write(b"\x89PNG\r\n\x1a\n")
    png.write(chunk(b"IHDR", struct.pack(">IIBBBBB", 7, 9, 8, 2, 0, 0, 0)))
    png.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
"#;

#[test]
fn photographs_say_how_they_were_taken() {
    let site = Site::new();
    let plain = grey_jpeg(40, 30);
    site.write("plain.jpg", &plain);
    site.python("a.png", RED_PNG);
    let found = site.well_found(&site.path("plain.jpg"));
    expect_number(&found, "width", 40);
    assert_eq!(found.attributes.len(), 2, "{found:?}");
    let found = site.well_found(&site.path("a.png"));
    expect_number(&found, "width", 7);
    expect_number(&found, "height", 9);
    // The segment APP1 goes behind the start of the image.
    let exif = [b"Exif\0\0", &exif()[..]].concat();
    let length = (exif.len() as u16 + 2).to_be_bytes();
    let photograph = [&plain[..2], b"\xff\xe1", &length, &exif, &plain[2..]].concat();
    let found = site.well_found(&site.write("photograph.jpg", photograph));
    expect_number(&found, "height", 30);
    expect_number(&found, "iso", 200);
    expect_text(&found, "camera", "ACME Model 7");
    assert_eq!(attribute(&found, "exposure"), &Value::Real(0.004));
    assert_eq!(attribute(&found, "aperture"), &Value::Real(2.8));
    assert_eq!(
        attribute(&found, "taken"),
        &Value::Time(1_704_164_645_000_000_000)
    );
}

#[test]
fn music_has_tags_and_a_duration() {
    let site = Site::new();
    // ID3v2.3.0, section 3.2: frames with an encoding byte; then frames of MPEG-1 layer III with
    // 128 kbit/s and 44.1 kHz, each of 417 bytes and 1152 samples.
    let frame = |name: &[u8], text: &[u8]| {
        let length = (text.len() as u32 + 1).to_be_bytes();
        [name, &length, b"\0\0\0", text].concat()
    };
    let frames = [
        frame(b"TIT2", b"Air"),
        frame(b"TPE1", b"Bach"),
        frame(b"TALB", b"Suites"),
        frame(b"TRCK", b"3"),
        frame(b"TYER", b"1731"),
    ]
    .concat();
    let size = frames.len();
    let head = [
        b"ID3\x03\0\0\0\0",
        &[(size >> 7) as u8, (size & 127) as u8][..],
    ]
    .concat();
    let mut sound = b"\xff\xfb\x90\x00".to_vec();
    sound.resize(417, 0);
    let song = [&head, &frames[..], &sound.repeat(100)].concat();
    let found = site.well_found(&site.write("a.mp3", song));
    for (name, text) in [("title", "Air"), ("artist", "Bach"), ("album", "Suites")] {
        expect_text(&found, name, text);
    }
    expect_number(&found, "track", 3);
    expect_number(&found, "year", 1731);
    expect_number(&found, "sample-rate", 44100);
    expect_words(&found, &["Bach"]);
    let Value::Real(duration) = attribute(&found, "duration") else {
        panic!("{found:?}");
    };
    assert!(
        (duration - 100.0 * 1152.0 / 44100.0).abs() < 0.1,
        "{duration}"
    );

    // FLAC: STREAMINFO, and the last block with Vorbis comments (RFC 9639, sections 8.2 and 8.6).
    let mut information = [0; 34];
    // 44,100 Hz in 20 bits, 2 channels, 16 bits a sample, 88,200 samples.
    information[10..18].copy_from_slice(&[0x0a, 0xc4, 0x42, 0xf0, 0x00, 0x01, 0x58, 0x88]);
    let comment = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let comments = [
        comment("maker"),
        2u32.to_le_bytes().to_vec(),
        comment("ARTIST=Clara"),
        comment("GENRE=Classical"),
    ]
    .concat();
    let block = |kind: u8, data: &[u8]| [&[kind, 0, 0, data.len() as u8], data].concat();
    let song = [
        b"fLaC",
        &block(0, &information)[..],
        &block(0x84, &comments),
    ]
    .concat();
    let found = site.well_found(&site.write("a.flac", song));
    expect_text(&found, "artist", "Clara");
    expect_text(&found, "genre", "Classical");
    assert_eq!(attribute(&found, "duration"), &Value::Real(2.0));

    let wav = "import sys, wave\nw = wave.open(sys.argv[1], 'wb')\nw.setnchannels(1)\nw.setsampwidth(2)\n\
               w.setframerate(8000)\nw.writeframes(b'\\0' * 24000)\nw.close()";
    let found = site.well_found(&site.python("a.wav", wav));
    assert_eq!(attribute(&found, "duration"), &Value::Real(1.5));
    expect_number(&found, "channels", 1);
}

#[test]
fn archives_list_their_members() {
    let site = Site::new();
    site.tool(
        "mkdir -p d/e; echo one > d/one.txt; echo three > d/e/three.txt; tar cf a.tar d; \
         tar czf a.tgz d; zip -qr a.zip d; seq 1000 | gzip > a.log.gz",
    );
    for name in ["a.tar", "a.tgz", "a.zip"] {
        let found = site.well_found(&site.path(name));
        let lines: BTreeSet<&str> = found.text.lines().collect();
        assert_eq!(
            lines,
            BTreeSet::from(["d/", "d/e/", "d/one.txt", "d/e/three.txt"]),
            "{name}"
        );
        expect_number(&found, "members", 4);
        expect_number(&found, "uncompressed-size", 10);
    }
    let found = site.well_found(&site.path("a.log.gz"));
    let expected: String = (1..=1000).map(|number| format!("{number}\n")).collect();
    assert_eq!(found.text, expected);
}

/// FITS Standard 4.0, section 4: cards of 80 characters in blocks of 2,880.
#[test]
fn fits_headers_give_their_keywords() {
    let site = Site::new();
    let block = |cards: &[&str]| {
        let mut text: String = cards.iter().map(|card| format!("{card:80}")).collect();
        text.push_str(&format!("{:80}", "END"));
        let blocks = text.len().div_ceil(2880);
        format!("{text:width$}", width = blocks * 2880)
    };
    let first = block(&[
        "SIMPLE  =                    T / file conforms",
        "BITPIX  =                  -32",
        "NAXIS   =                    2",
        "NAXIS1  =                  100",
        "NAXIS2  =                   10",
        "EXPTIME =              1.25E-2 / seconds",
        "OBJECT  = 'M31     '           / Andromeda",
        "DATE-OBS= '2024-01-02T03:04:05'",
        "COMMENT taken through clouds",
    ]);
    // 4,000 bytes of data take two blocks.
    let second = block(&[
        "XTENSION= 'IMAGE   '",
        "BITPIX  =  8",
        "NAXIS   = 0",
        "FILTER  = 'R'",
    ]);
    let file = [first.as_bytes(), &vec![0; 2 * 2880], second.as_bytes()].concat();
    let found = site.well_found(&site.write("a.fits", file));
    assert_eq!(attribute(&found, "fits.exptime"), &Value::Real(0.0125));
    expect_text(&found, "fits.object", "M31");
    expect_text(&found, "fits.filter", "R");
    expect_number(&found, "fits.bitpix", -32);
    assert_eq!(
        attribute(&found, "fits.date-obs"),
        &Value::Time(1_704_164_645_000_000_000)
    );
    expect_words(&found, &["clouds", "M31"]);
}

#[test]
fn parquet_files_give_their_columns() {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    let site = Site::new();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let batch = RecordBatch::try_from_iter([("wave", numbers), ("station", names)]).expect("rows");
    let path = site.path("a.parquet");
    let file = File::create(&path).expect("a file");
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("a footer");
    let found = site.well_found(&path);
    expect_number(&found, "rows", 3);
    assert_eq!(texts(&found, "column"), ["station", "wave"]);
}

/// A measurement in the language of the NetCDF library's own programs.
const CDL: &str = r#"netcdf a {
dimensions: time = UNLIMITED; station = 2;
variables:
  double temperature(time, station);
    temperature:units = "kelvin";
    temperature:long_name = "air temperature";
    temperature:valid_range = 100., 400.;
  int station(station);
  float depth(station);
// global attributes:
  :title = "Weather of the valley";
  :Conventions = "CF-1.8";
  :time_coverage_start = "2024-01-02T03:04:05Z";
  :revision = 3;
  :resolution = 0.25;
  :levels = 1s, 2s, 3s;
data:
  temperature = 280.5, 281; station = 7, 8; depth = 1, 2;
}"#;

/// "exposing the semantic information in files" of the kinds that laboratories write: the formats of
/// NetCDF and HDF5 (NetCDF User's Guide, appendix B), made by the libraries that define them.
#[test]
fn all_formats_of_netcdf_give_the_same() {
    if let Some(skip) = without_program("NetCDF", "ncgen") {
        return skip.say();
    }
    let site = Site::new();
    site.write("a.cdl", CDL);
    for kind in ["classic", "64-bit-offset", "64-bit-data", "netCDF-4"] {
        site.tool(&format!("ncgen -k {kind} -o {kind}.nc a.cdl"));
        let found = site.well_found(&site.path(&format!("{kind}.nc")));
        let mut variables = texts(&found, "variable");
        variables.sort();
        assert_eq!(variables, ["depth", "station", "temperature"], "{kind}");
        expect_text(&found, "netcdf.title", "Weather of the valley");
        expect_text(&found, "netcdf.conventions", "CF-1.8");
        expect_number(&found, "netcdf.revision", 3);
        assert_eq!(attribute(&found, "netcdf.resolution"), &Value::Real(0.25));
        assert_eq!(
            attribute(&found, "netcdf.levels"),
            &Value::List([1, 2, 3].map(Value::Integer).to_vec())
        );
        assert_eq!(
            attribute(&found, "netcdf.time_coverage_start"),
            &Value::Time(1_704_164_645_000_000_000)
        );
        expect_words(&found, &["valley", "kelvin", "temperature"]);
        let mut names: Vec<&str> = found
            .attributes
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "netcdf.conventions",
                "netcdf.levels",
                "netcdf.resolution",
                "netcdf.revision",
                "netcdf.time_coverage_start",
                "netcdf.title",
                "variable"
            ],
            "{kind}"
        );
    }
}

/// Datasets in groups, and a file that is larger than what is read of it.
#[test]
fn hdf5_files_give_their_datasets() {
    for program in ["h5import", "h5copy"] {
        if let Some(skip) = without_program("HDF5", program) {
            return skip.say();
        }
    }
    let mut site = Site::new();
    site.tool(
        "seq 1000000 > numbers; echo PATH run1/detector/counts > how; \
         printf 'INPUT-CLASS TEXTIN\nRANK 1\nDIMENSION-SIZES 1000000\n' >> how; \
         h5import numbers -c how -o a.h5; \
         h5copy -p -i a.h5 -o a.h5 -s run1/detector/counts -d run2/background",
    );
    let size = std::fs::metadata(site.path("a.h5")).expect("a file").len();
    site.limits.input_bytes = 1 << 20;
    assert!(size > 2 * site.limits.input_bytes);
    let found = site.well_found(&site.path("a.h5"));
    let mut variables = texts(&found, "variable");
    variables.sort();
    assert_eq!(variables, ["run1/detector/counts", "run2/background"]);
    let mut lines: Vec<&str> = found.text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, variables);
}

/// Plain text in UTF-8 is read by the caller; the oracle is what a worker does.
#[test]
fn plain_text_is_read_alike_with_and_without_a_worker() {
    use trawl_hooks::builtin::Builtin;
    use trawl_hooks::format::Format;
    let mut site = Site::new();
    site.limits.text_bytes = 16;
    for content in [
        "",
        "a",
        "a\n",
        "two\nlines",
        "gr\u{fc}n\n",
        "exactly 16 bytes",
        "more than sixteen bytes",
        "fifteen bytes..\u{fc} and more",
        "gr\u{fc}n and more than that",
        "nothing\u{fffd}",
        "zero\0",
    ] {
        let path = site.write("a.txt", content);
        let found = site.found(&path);
        let file = std::fs::File::open(&path).expect("a file");
        let size_bytes = content.len() as u64;
        let expected = match content.is_empty() || content.contains('\0') {
            true => trawl_hooks::Extracted::default(),
            false => {
                trawl_parsers::parse(Builtin::Text, Format::Text, file, size_bytes, &site.limits)
            }
        };
        assert_eq!(found, expected, "{content:?}");
    }
}
