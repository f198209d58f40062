"""A REST catalog of Apache Iceberg on loopback, for scripts/test_iceberg.py: the protocol's requests are handed to pyiceberg's
SqlCatalog, which checks requirements and applies updates. It prints its URL, and ends with its standard input. PROPERTIES: further ones of
the catalog, as JSON.

    iceberg_rest.py FOLDER [TOKEN [WAREHOUSE]]
"""

import http.server
import json
import os
import sys
import threading
import urllib.parse

from pyiceberg.catalog.rest import CommitTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NamespaceAlreadyExistsError, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

folder, token = sys.argv[1], (sys.argv[2:] or [""])[0]
warehouse = (sys.argv[3:] or [f"file://{folder}/warehouse"])[0]
catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=warehouse, **json.loads(os.environ.get("PROPERTIES", "{}")))
one = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    def log_message(self, *_):
        pass

    def say(self, status, body):
        text = body if isinstance(body, str) else json.dumps(body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def fail(self, status, error):
        self.say(status, {"error": {"message": str(error), "type": type(error).__name__, "code": status}})

    def shown(self, metadata, location):
        self.say(200, '{"metadata-location": %s, "metadata": %s, "config": {}}' % (json.dumps(location), metadata.model_dump_json()))

    def handle_request(self):
        url = urllib.parse.urlparse(self.path)
        names = [urllib.parse.unquote(n).split("\x1f") for n in url.path.strip("/").split("/")]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if token and self.headers.get("Authorization") != "Bearer " + token:
            return self.fail(401, PermissionError("no token"))
        match [n[0] for n in names[:2]], names[2:]:
            case ["v1", "config"], []:
                return self.say(200, {"defaults": {}, "overrides": {"prefix": "main"}})
            case ["v1", "main"], [["namespaces"]]:
                catalog.create_namespace(tuple(json.loads(body)["namespace"]))
                return self.say(200, {})
            case ["v1", "main"], [["namespaces"], space, ["tables"]]:
                asked = json.loads(body)
                if not catalog.namespace_exists(tuple(space)):
                    raise NoSuchNamespaceError(space)
                location = f"{warehouse}/{'.'.join(space)}.db/{asked['name']}"
                schema = Schema.model_validate(asked["schema"])
                metadata = new_table_metadata(schema, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location)
                return self.shown(metadata, None)
            case ["v1", "main"], [["namespaces"], space, ["tables"], [name]]:
                identifier = (*space, name)
                if self.command == "GET":
                    table = catalog.load_table(identifier)
                    return self.shown(table.metadata, table.metadata_location)
                # pyiceberg's own client sends no table that is there with its creation.
                asked = CommitTableRequest.model_validate_json(body)
                handle = Table(identifier, None, "", None, catalog)
                done = catalog.commit_table(handle, asked.requirements, asked.updates)
                return self.shown(done.metadata, done.metadata_location)
        return self.fail(400, ValueError(self.path))

    def answer(self):
        with one:
            try:
                self.handle_request()
            except (NoSuchTableError, NoSuchNamespaceError) as e:
                self.fail(404, e)
            except (CommitFailedException, NamespaceAlreadyExistsError) as e:
                self.fail(409, e)
            except Exception as e:  # the protocol has nothing else for it
                sys.stderr.write(f"{self.command} {self.path}: {e!r}\n")
                self.fail(400, e)

    do_GET = do_POST = answer


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
