/** SQL of the question which data nobody has used for some time, by project. */

/** A text as a literal of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Ways to tell projects apart. */
export type ColdBy = 'directory' | 'group' | 'owner' | 'quota';

const KEYS: Readonly<Record<ColdBy, string>> = {
  directory: '',
  group: 'coalesce(group_name(gid), CAST(gid AS VARCHAR))',
  owner: 'coalesce(user_name(uid), CAST(uid AS VARCHAR))',
  quota: "coalesce(CAST(project AS VARCHAR), 'none')",
};

/**
 * Returns the statement.
 *
 * @param directory where to look; with `directory`, each directory in it is a project
 * @param days time since a file was read and modified
 */
export function coldStatement(directory: string, by: ColdBy, days: number): string {
  const prefix = directory === '/' ? '/' : `${directory}/`;
  const rest = `substr(path, ${[...prefix].length + 1})`;
  const first = `CASE WHEN strpos(${rest}, '/') > 0 THEN split_part(${rest}, '/', 1) ELSE '(files here)' END`;
  const isCold = `atime < now() - INTERVAL '${days} days' AND mtime < now() - INTERVAL '${days} days'`;
  return [
    `SELECT ${by === 'directory' ? first : KEYS[by]} AS label,`,
    `       sum(CASE WHEN ${isCold} THEN blocks ELSE 0 END) * 512 AS cold_bytes,`,
    '       sum(blocks) * 512 AS all_bytes,',
    `       sum(CASE WHEN ${isCold} THEN 1 ELSE 0 END) AS cold_files,`,
    '       count(*) AS all_files',
    'FROM entries',
    `WHERE under(path, ${literal(directory)}) AND type = 'f'`,
    'GROUP BY 1',
    'ORDER BY cold_bytes DESC',
    'LIMIT 1000',
  ].join('\n');
}
