"""Asks a service for many users as whom it answers, by a token, a password and a session of a token."""

import json
import ssl
import sys

import httpx

from trawl_client import Client, Problem

base, authority, token = sys.argv[1:]
http = httpx.Client(verify=ssl.create_default_context(cafile=authority))
by_token = Client(base, token, http)
found: dict[str, object] = {"token": by_token.me()["user"]}
try:
    by_token.sql({"query": "SELECT 1"}).pages().__next__()
except Problem as problem:
    found["scope"] = problem.status
client = Client(base, http=http)
found["ways"] = client.ways()["ways"]
client.login(token=token)
found["session"] = client.me()["user"]
client.logout()
for password in ["wrong", "R1ght"]:
    try:
        client.login("u60001", password)
        found[password] = client.me()["user"]
    except Problem as problem:
        found[password] = problem.status
print(json.dumps(found))
