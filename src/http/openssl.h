// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;

// What clients and servers do alike with OpenSSL. Nothing here blocks. Errors are
// kInvalid and begin with `what`.
namespace gantry::http {

// A context without sessions, which the caller frees; its connections give their buffers back
// between records.
ssl_ctx_st* NewTlsContext(const ssl_method_st* method);

// The first certificate of a PEM text is shown to peers, the others are its chain.
Status UseCertificate(ssl_ctx_st* context, std::string_view pem, std::string_view what);
// The private key of the certificate that is in use; one with a password is an error.
Status UseKey(ssl_ctx_st* context, std::string_view pem, std::string_view what);
// Peers' certificates are accepted if one of these signed them.
Status TrustAuthorities(ssl_ctx_st* context, std::string_view pem, std::string_view what);

// The connection reads and writes this socket, of which a write after the peer has closed raises no
// SIGPIPE. `fd` outlives the connection.
void UseSocket(ssl_st* connection, const int* fd);

// The oldest reason in OpenSSL's queue of this thread, which it empties.
std::string TlsReason();

}  // namespace gantry::http
