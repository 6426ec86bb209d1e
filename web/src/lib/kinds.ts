/** Kinds of files by their extension, and ages, for colours. */

/** Extensions of each kind. */
const KINDS: Readonly<Record<string, string>> = {
  Pictures: 'jpg jpeg png gif bmp tif tiff svg webp heic raw cr2 nef psd ico xcf dng',
  'Video and sound': 'mp4 mkv avi mov webm mpg mpeg wmv m4v mp3 flac wav ogg opus m4a aac aiff',
  Documents: 'pdf doc docx odt rtf txt md tex ps epub ppt pptx odp xls xlsx ods html htm djvu po mo gmo',
  Archives: 'zip gz bz2 xz zst tar tgz 7z rar lz4 jar deb rpm iso img cab',
  'Source and text': 'c h cc cpp hpp rs py js ts tsx java go rb pl sh css xml yaml yml toml ini conf log cmake el lua',
  Data: 'csv tsv json jsonl parquet arrow feather db sqlite h5 hdf5 nc bam sam vcf fastq fq fa fasta npy npz mat bin dat pack pkl',
  Programs: 'exe dll so a o ko pyc class wasm elf msi apk',
};

const BY_EXTENSION = new Map(Object.entries(KINDS).flatMap(([kind, list]) => list.split(' ').map((extension) => [extension, kind] as const)));

/** Kinds, in the order of their colours. */
export const KIND_NAMES: readonly string[] = [...Object.keys(KINDS), 'Other files'];

/** Returns the kind of a file by its name. */
export function kindOf(name: string): string {
  const at = name.lastIndexOf('.');
  return (at > 0 ? BY_EXTENSION.get(name.slice(at + 1).toLowerCase()) : undefined) ?? 'Other files';
}

const DAY = 86_400_000;

/** Ages: the most days of each. */
const AGES: readonly (readonly [number, string])[] = [
  [30, 'Modified in the last month'],
  [90, '1 to 3 months'],
  [365, '3 to 12 months'],
  [3 * 365, '1 to 3 years'],
  [Infinity, 'Not modified for 3 years'],
];

export const AGE_NAMES: readonly string[] = AGES.map(([, name]) => name);

/** Returns the age of a time. */
export function ageOf(ms: number, now: number): string {
  return AGES.find(([days]) => now - ms < days * DAY)?.[1] ?? '';
}

/** Colours that are told apart, on which black text can be read. */
export const PALETTE: readonly string[] = ['#6cb6e8', '#f2a65a', '#7fcf8f', '#e78ac3', '#c9b458', '#a6a3f0', '#66c7c1', '#f08a80', '#b9c46a', '#d3a98c'];
/** From young to old. */
export const AGE_PALETTE: readonly string[] = ['#8fd694', '#c5dc7b', '#f4d35e', '#f0a35e', '#e57f6c'];
/** For what is not known. */
export const GREY = '#b9bfc6';
