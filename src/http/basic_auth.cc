// SPDX-License-Identifier: Apache-2.0
// Whose request is it: a name and a password against bcrypt hashes.
#include "http/basic_auth.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <memory>

#include "base/base64.h"
#include "base/text.h"

namespace gantry::http {
namespace {

constexpr size_t kRemembered = 16;

bool IsRight(const std::string& hash, const std::string& password) {
  // bcrypt ends at a zero byte, and what follows it would not be compared.
  if (password.contains('\0')) {
    return false;
  }
  // 32 KB, too much for a stack.
  const auto state = std::make_unique<crypt_data>();
  const char* made = crypt_r(password.c_str(), hash.c_str(), state.get());
  return made != nullptr && hash.size() == std::string_view(made).size() &&
         CRYPTO_memcmp(made, hash.data(), hash.size()) == 0;
}

}  // namespace

std::optional<Credentials> ReadBasicAuthorization(std::string_view authorization) {
  const size_t ns = authorization.find(' ');
  if (ns == std::string_view::npos || Lower(authorization.substr(0, ns)) != "basic") {
    return std::nullopt;
  }
  const Result<std::string> pair = DecodeBase64(authorization.substr(ns + 1));
  const size_t colon = pair.has_value() ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return std::nullopt;
  }
  return Credentials{.user = pair->substr(0, colon), .password = pair->substr(colon + 1)};
}

PasswordBook::PasswordBook() {
  CHECK(getrandom(salt_.data(), salt_.size(), 0) == static_cast<ssize_t>(salt_.size()));
}

PasswordBook::Digest PasswordBook::DigestOf(std::string_view hash,
                                            const Credentials& credentials) const {
  std::string text(salt_.begin(), salt_.end());
  text +=
      format("{}:{}:{}{}", hash, credentials.user.size(), credentials.user, credentials.password);
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  OPENSSL_cleanse(text.data(), text.size());
  return digest;
}

bool PasswordBook::Remembers(const Users& users, const Credentials& credentials) const {
  const auto user = users.find(credentials.user);
  if (user == users.end()) {
    return false;
  }
  const Digest digest = DigestOf(user->second, credentials);
  bool found = false;
  for (const Digest& right : right_) {
    found = CRYPTO_memcmp(right.data(), digest.data(), digest.size()) == 0 || found;
  }
  return found;
}

bool PasswordBook::Check(const Users& users, const Credentials& credentials) {
  if (users.empty()) {
    return false;
  }
  const auto user = users.find(credentials.user);
  const bool known = user != users.end();
  // An unknown user's password is compared too, so that the time doesn't say who is known.
  const std::string& hash = known ? user->second : users.begin()->second;
  if (!IsRight(hash, credentials.password) || !known) {
    return false;
  }
  right_.push_back(DigestOf(hash, credentials));
  if (right_.size() > kRemembered) {
    right_.pop_front();
  }
  return true;
}

}  // namespace gantry::http
