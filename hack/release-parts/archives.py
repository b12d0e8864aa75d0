"""Archives whose bytes depend on their files alone: sorted names, one time, no owners, and gzip without a name or a time."""
import gzip
import hashlib
import io
import json
import tarfile


class Tree:
    """Files to be archived, by their path without a leading slash. Folders come by themselves."""

    def __init__(self, time):
        self.time = time
        self.entries = {}

    def add(self, path, data=None, mode=0o644, link=None, folder=False, hard_link=None):
        member = tarfile.TarInfo(path)
        member.mtime, member.mode = self.time, mode
        if folder:
            member.type = tarfile.DIRTYPE
        elif link is not None:
            member.type, member.linkname, member.mode = tarfile.SYMTYPE, link, 0o777
        elif hard_link is not None:
            member.type, member.linkname = tarfile.LNKTYPE, hard_link
        else:
            member.size = len(data)
        self.entries[path] = (member, data)

    def add_parents(self):
        for path in list(self.entries):
            parts = path.split("/")[:-1]
            for end in range(1, len(parts) + 1):
                parent = "/".join(parts[:end])
                if parent not in self.entries:
                    self.add(parent, folder=True, mode=0o755)

    def tar(self, folders=True):
        if folders:
            self.add_parents()
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
            # A hard link comes behind what it links to.
            for path in sorted(self.entries, key=lambda p: (self.entries[p][0].islnk(), p)):
                member, data = self.entries[path]
                tar.addfile(member, io.BytesIO(data) if member.isreg() else None)
        return out.getvalue()


def zipped(data):
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def json_bytes(value):
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


class OciArchive:
    """An OCI image layout as one tar file, which names exactly one image, index or artefact."""

    def __init__(self, time):
        self.tree = Tree(time)
        self.tree.add("oci-layout", json_bytes({"imageLayoutVersion": "1.0.0"}))

    def blob(self, data, media_type, **more):
        self.tree.add("blobs/sha256/" + sha256(data), data)
        return {"mediaType": media_type, "digest": "sha256:" + sha256(data), "size": len(data), **more}

    def manifest(self, config, layers, **more):
        media_type = "application/vnd.oci.image.manifest.v1+json"
        return self.blob(json_bytes({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": layers, **more}), media_type)

    def index(self, manifests, **more):
        media_type = "application/vnd.oci.image.index.v1+json"
        return self.blob(json_bytes({"schemaVersion": 2, "mediaType": media_type, "manifests": manifests, **more}), media_type)

    def finish(self, root, name):
        """The archive's bytes; `root` is what it is for, `name` its tag."""
        annotated = {**root, "annotations": {**root.get("annotations", {}), "org.opencontainers.image.ref.name": name}}
        self.tree.add("index.json", json_bytes({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                                "manifests": [annotated]}))
        return self.tree.tar()


def root_digest(path):
    """sha256 of what an OCI archive is for."""
    with tarfile.open(path) as tar:
        return json.load(tar.extractfile("index.json"))["manifests"][0]["digest"].removeprefix("sha256:")


def signed_payload(name, digest):
    """What cosign signs of an image: its digest, and the name that it was given."""
    return json.dumps({"critical": {"identity": {"docker-reference": name}, "image": {"docker-manifest-digest": "sha256:" + digest},
                                    "type": "cosign container image signature"}, "optional": None}, separators=(",", ":")).encode()
