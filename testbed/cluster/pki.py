# SPDX-License-Identifier: Apache-2.0
"""Certificates and kubeconfig files of one bed: its own authority, elliptic keys because they
are made at once.
"""

import base64
import pathlib

import process

_OPENSSL_CONFIG = "[req]\ndistinguished_name = dn\n[dn]\n"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650"]


class Authority:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.certificate = folder / "ca.crt"

    def create(self) -> None:
        self.folder.mkdir(mode=0o700)
        (self.folder / "openssl.conf").write_text(_OPENSSL_CONFIG)
        self._request(
            "ca",
            "/CN=bed",
            ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"],
            [],
        )
        service_account = self.folder / "service-account.key"
        generate = [
            "openssl",
            "ecparam",
            "-genkey",
            "-noout",
            "-name",
            "prime256v1",
            "-out",
            service_account,
        ]
        process.run(generate, "make service account key")
        public = [
            "openssl",
            "ec",
            "-in",
            service_account,
            "-pubout",
            "-out",
            self.folder / "service-account.pub",
        ]
        process.run(public, "write service account key")

    def issue(
        self, name: str, common_name: str, organization: str = "", addresses: tuple[str, ...] = ()
    ) -> None:
        """Writes NAME.crt and NAME.key, good for a server at `addresses` (DNS:..., IP:...) and
        for a client.
        """
        subject = (f"/O={organization}" if organization else "") + f"/CN={common_name}"
        extensions = [
            "basicConstraints=critical,CA:FALSE",
            "keyUsage=critical,digitalSignature,keyEncipherment",
            "extendedKeyUsage=serverAuth,clientAuth",
            "authorityKeyIdentifier=keyid",
        ]
        if addresses:
            extensions.append(f"subjectAltName={','.join(addresses)}")
        signer = ["-CA", self.certificate, "-CAkey", self.folder / "ca.key"]
        self._request(name, subject, extensions, signer)

    def _request(self, name: str, subject: str, extensions: list[str], signer: list) -> None:
        command = [
            "openssl",
            "req",
            "-x509",
            "-config",
            self.folder / "openssl.conf",
            *_KEY,
            *signer,
        ]
        command += [
            "-subj",
            subject,
            "-keyout",
            self.folder / f"{name}.key",
            "-out",
            self.folder / f"{name}.crt",
        ]
        for extension in (*extensions, "subjectKeyIdentifier=hash"):
            command += ["-addext", extension]
        process.run(command, f"make certificate {name}")

    def kubeconfig(self, path: pathlib.Path, name: str, server: str) -> None:
        """Writes a kubeconfig that needs no other file."""

        def embedded(file: str) -> str:
            return base64.b64encode((self.folder / file).read_bytes()).decode()

        path.write_text(
            "apiVersion: v1\n"
            "kind: Config\n"
            "current-context: bed\n"
            "clusters:\n"
            "- name: bed\n"
            "  cluster:\n"
            f"    server: {server}\n"
            f"    certificate-authority-data: {embedded('ca.crt')}\n"
            "users:\n"
            f"- name: {name}\n"
            "  user:\n"
            f"    client-certificate-data: {embedded(f'{name}.crt')}\n"
            f"    client-key-data: {embedded(f'{name}.key')}\n"
            "contexts:\n"
            "- name: bed\n"
            "  context:\n"
            "    cluster: bed\n"
            f"    user: {name}\n"
        )
        path.chmod(0o600)
