-- One query a line: DuckDB over an export and trawl sql over the index must give the same rows.
-- Columns that depend on the export (none here) or on the engine's way to print times are not shown.
SELECT count(*) FROM entries
SELECT count(*) FROM dirs
SELECT count(*) FROM xattrs
SELECT count(*) FROM issues
SELECT path FROM entries
SELECT path, dir, name, type FROM entries
SELECT dir || '/' || name = path, count(*) FROM entries GROUP BY 1
SELECT path, size, blocks, blksize FROM entries
SELECT path, ino, dev, rdev, nlink FROM entries
SELECT path, mode, uid, gid FROM entries
SELECT path, project, attributes FROM entries
SELECT path, link_target FROM entries WHERE type = 'l'
SELECT path, acl, acl_default FROM entries
SELECT path FROM entries WHERE name_raw IS NOT NULL
SELECT path FROM entries WHERE path_raw IS NOT NULL
SELECT type, count(*) FROM entries GROUP BY type
SELECT type, sum(size) FROM entries GROUP BY type
SELECT type, min(size), max(size), sum(blocks) FROM entries GROUP BY type
SELECT uid, count(*), sum(size) FROM entries GROUP BY uid
SELECT gid, count(*), sum(size) FROM entries GROUP BY gid
SELECT uid, gid, count(*) FROM entries GROUP BY uid, gid
SELECT uid, gid, count(*) FROM entries GROUP BY GROUPING SETS ((uid), (gid), ())
SELECT uid, type, count(*) FROM entries GROUP BY ROLLUP (uid, type)
SELECT count(DISTINCT ino) FROM entries
SELECT count(DISTINCT uid), count(DISTINCT gid) FROM entries
SELECT dir, count(*) FROM entries GROUP BY dir
SELECT dir, count(*) FROM entries GROUP BY dir HAVING count(*) > 10
SELECT dir, count(*) AS n FROM entries WHERE type = 'f' AND size < 4096 GROUP BY dir ORDER BY n DESC, dir LIMIT 3
SELECT name, size, count(*) FROM entries WHERE type = 'f' GROUP BY name, size HAVING count(*) > 1
SELECT path FROM entries WHERE size > 4096
SELECT path FROM entries WHERE size >= 4096 AND size < 8192
SELECT path FROM entries WHERE size BETWEEN 100 AND 200
SELECT path FROM entries WHERE size IN (0, 3, 7, 10)
SELECT path FROM entries WHERE NOT size > 100
SELECT path FROM entries WHERE size <> 0 AND type = 'f'
SELECT path FROM entries WHERE size = 977 OR size = 5000
SELECT path FROM entries WHERE size > 100000000
SELECT path FROM entries WHERE type = 'd'
SELECT path FROM entries WHERE type <> 'd'
SELECT path FROM entries WHERE type IN ('d', 'l')
SELECT path FROM entries WHERE uid = 4001
SELECT path FROM entries WHERE uid > 4000
SELECT path FROM entries WHERE uid IN (1000, 1002) AND gid = 100
SELECT path FROM entries WHERE uid = 1000 OR uid = 4001
SELECT path FROM entries WHERE nlink > 1
SELECT path FROM entries WHERE (mode & 2) <> 0
SELECT path FROM entries WHERE (mode & 4095) = 420
SELECT path FROM entries WHERE name LIKE '%.c'
SELECT path FROM entries WHERE name NOT LIKE '%.c'
SELECT path FROM entries WHERE name LIKE '1_.c'
SELECT path FROM entries WHERE name ILIKE '%.C'
SELECT path FROM entries WHERE path LIKE '/scratch/%'
SELECT path FROM entries WHERE path LIKE '/scratch%'
SELECT path FROM entries WHERE path LIKE '/scratch/run1/out/1%'
SELECT path FROM entries WHERE path LIKE '/home/%' OR path LIKE '/sw/%'
SELECT path FROM entries WHERE path LIKE '/home/%' AND NOT path LIKE '/home/ann/%'
SELECT path FROM entries WHERE path NOT LIKE '/home/%'
SELECT path FROM entries WHERE dir = '/projects/alpha/src'
SELECT path FROM entries WHERE dir = '/projects'
SELECT path FROM entries WHERE dir IN ('/home/ann', '/home/bob', '/home/nobody')
SELECT path FROM entries WHERE dir LIKE '/projects/beta%'
SELECT path FROM entries WHERE path = '/sw/bin/tool'
SELECT path FROM entries WHERE path = '/sw/bin/tool' OR dir = '/sw/bin'
SELECT path FROM entries WHERE path IN ('/sw/bin/tool', '/sw/bin', '/sw/none')
SELECT path FROM entries WHERE starts_with(path, '/projects/alpha/src/1')
SELECT path FROM entries WHERE path LIKE '/scratch/%' AND size > 1000
SELECT path FROM entries WHERE path > '/scratch' AND path < '/scratchz'
SELECT path FROM entries WHERE mtime < TIMESTAMP '2020-01-01 00:00:00'
SELECT path FROM entries WHERE mtime > TIMESTAMP '2000-01-01 00:00:00'
SELECT path FROM entries WHERE mtime > atime
SELECT path FROM entries WHERE ctime < mtime
SELECT date_part('year', CAST(mtime AS TIMESTAMP WITH TIME ZONE)), count(*) FROM entries WHERE type = 'f' GROUP BY 1
SELECT date_part('month', CAST(mtime AS TIMESTAMP WITH TIME ZONE)), sum(size) FROM entries WHERE type = 'f' GROUP BY 1
SELECT path FROM entries WHERE btime IS NULL
SELECT path FROM entries WHERE link_target IS NOT NULL
SELECT path FROM entries WHERE project IS NULL AND type = 'l'
SELECT path FROM entries WHERE blocks * 512 < size
SELECT length(name), count(*) FROM entries GROUP BY 1
SELECT upper(name) FROM entries WHERE dir = '/sw/bin'
SELECT split_part(name, '.', 2), count(*) FROM entries WHERE type = 'f' GROUP BY 1
SELECT path FROM entries ORDER BY size DESC, path LIMIT 10
SELECT path FROM entries ORDER BY path LIMIT 10 OFFSET 5
SELECT path, size FROM entries WHERE type = 'f' ORDER BY size, path LIMIT 7
SELECT path, row_number() OVER (PARTITION BY dir ORDER BY name) FROM entries
SELECT path, sum(size) OVER (PARTITION BY dir ORDER BY name) FROM entries WHERE type = 'f'
SELECT path, rank() OVER (ORDER BY size) FROM entries WHERE type = 'f'
SELECT CASE WHEN size = 0 THEN 'empty' WHEN size < 1000 THEN 'small' ELSE 'large' END, count(*) FROM entries GROUP BY 1
SELECT coalesce(link_target, name) FROM entries
SELECT DISTINCT dir FROM entries
SELECT DISTINCT uid, type FROM entries
SELECT path FROM entries UNION SELECT path FROM dirs
SELECT path FROM entries INTERSECT SELECT path FROM dirs
SELECT path FROM entries EXCEPT SELECT path FROM dirs
SELECT e.path, d.entries FROM entries e JOIN dirs d ON d.path = e.path
SELECT e.path FROM entries e LEFT JOIN dirs d ON d.path = e.path WHERE d.path IS NULL
SELECT e.path FROM entries e JOIN dirs d ON d.path = e.dir WHERE e.uid <> d.uid
SELECT d.path, count(e.path) FROM dirs d LEFT JOIN entries e ON e.dir = d.path GROUP BY d.path
SELECT a.path, b.path FROM entries a JOIN entries b ON a.ino = b.ino AND a.dev = b.dev AND a.path < b.path
SELECT path FROM entries e WHERE EXISTS (SELECT 1 FROM dirs d WHERE d.path = e.path AND d.entries = 0)
SELECT path FROM entries WHERE uid IN (SELECT uid FROM entries WHERE name = 'tool')
SELECT path FROM entries WHERE size = (SELECT max(size) FROM entries)
SELECT path FROM entries e WHERE size > (SELECT avg(size) FROM entries f WHERE f.dir = e.dir)
WITH big AS (SELECT dir, sum(size) AS s FROM entries GROUP BY dir) SELECT dir FROM big WHERE s > 10000
SELECT path, depth, entries, files, dirs, symlinks, others FROM dirs
SELECT path, size, blocks, own_size FROM dirs
SELECT path, tree_entries, tree_files, tree_dirs, tree_size, tree_blocks, tree_depth FROM dirs
SELECT path, tree_size FROM dirs WHERE path LIKE '/projects/%'
SELECT path, tree_size FROM dirs WHERE path = '/projects'
SELECT parent, count(*) FROM dirs GROUP BY parent
SELECT max(tree_entries) - min(tree_entries) FROM dirs
SELECT path FROM dirs WHERE entries = 0
SELECT sum(entries) + 1 = (SELECT count(*) FROM entries) FROM dirs
SELECT path, attr, text FROM xattrs
SELECT attr, count(*) FROM xattrs GROUP BY attr
SELECT x.path, e.size FROM xattrs x JOIN entries e USING (path)
SELECT avg(size) > 0, stddev(size) > 0 FROM entries
SELECT count(*) FILTER (WHERE type = 'f'), count(*) FILTER (WHERE type = 'd') FROM entries
SELECT bool_and(size >= 0), bool_or(size = 0) FROM entries
SELECT min(name), max(name) FROM entries WHERE name_raw IS NULL
SELECT string_agg(name, ',' ORDER BY name) FROM entries WHERE dir = '/sw/bin'
SELECT count(*) FROM entries, dirs WHERE entries.path = dirs.path
