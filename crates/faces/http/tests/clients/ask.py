"""Asks questions with the client, and prints a line of JSON for each: the rows. Then what else it can."""

import json
import sys
from typing import Any

from trawl_client import Client, Incomplete, Problem


def status(action: Any) -> int:
    try:
        action()
    except Problem as problem:
        return problem.status
    return 0


link, given = sys.argv[1], json.loads(sys.argv[2])
client = Client.from_link(link)
for question in given["questions"]:
    print(json.dumps(list(getattr(client, question["name"])(question["arguments"]))))

try:
    list(client.find({"paths": ["/"], "expression": ["-delete"]}))
except Problem as problem:
    refused = [problem.status, problem.title]
try:
    list(client.find({"paths": [given["file"] + "/none", given["file"]]}))
    incomplete = False
except Incomplete:
    incomplete = True
# What is not read is dropped.
with_more = client.find({"paths": [given["file"].rpartition("/")[0]], "limit": 1})
pages = with_more.pages()
cursor = next(pages)["cursor"]
pages.close()
assert status(lambda: client.ask("more", {"cursor": cursor})) == 409
tree = given["file"].rpartition("/docs/")[0]
with client.download("find", {"paths": [tree]}, "csv") as chunks:
    csv = b"".join(chunks).decode()
found = {
    "uid": client.me()["uid"],
    "ways": client.ways()["ways"],
    "content": client.read({"path": given["file"]})["content"],
    "csv": csv,
    "refused": refused,
    "incomplete": incomplete,
    "again": status(lambda: Client.from_link(link)),
}
client.logout()
print(json.dumps(found | {"ended": status(client.me)}))
