// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gantry::http {

struct Credentials {
  std::string user;
  std::string password;
};

// What a request's Authorization holds (RFC 7617); nullopt for another scheme and for what can't be
// read.
std::optional<Credentials> ReadBasicAuthorization(std::string_view authorization);

// Compares passwords with bcrypt hashes and remembers the last few that were right, as digests with
// a salt of this process: bcrypt takes 50 ms and more by design.
class PasswordBook {
 public:
  using Users = std::map<std::string, std::string>;  // name -> bcrypt hash
  PasswordBook();

  // Whether this password was right for this user and hash before. Doesn't block.
  [[nodiscard]] bool Remembers(const Users& users, const Credentials& credentials) const;
  // Whether it is right. Computes for as long as the hash asks for; an unknown user takes as long
  // as a known one.
  bool Check(const Users& users, const Credentials& credentials);

 private:
  using Digest = std::array<unsigned char, 32>;
  [[nodiscard]] Digest DigestOf(std::string_view hash, const Credentials& credentials) const;

  Digest salt_{};
  std::deque<Digest> right_;  // the oldest first
};

}  // namespace gantry::http
