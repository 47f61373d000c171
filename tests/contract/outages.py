"""A PostgreSQL whose sessions lose patience soon, and that goes down and comes back."""

from __future__ import annotations

import threading

import psycopg

from postgres_server import Server


def bounded(server: Server, schema: str, lock: str, idle: str) -> str:
    server_options = f"-csearch_path={schema} -clock_timeout={lock} -cidle_in_transaction_session_timeout={idle}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"create schema if not exists {schema}".encode())
    return f"{server.url()}?options={server_options.replace(' ', '%20').replace('=', '%3D')}"


def restarting(server: Server) -> threading.Thread:
    """Take the server down now, and let it come back while the caller goes on."""
    server.stop()
    thread = threading.Thread(target=server.resume)
    thread.start()
    return thread
