// SPDX-License-Identifier: Apache-2.0
#include "doctor/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RedactedText, TakesWhatOpensSomething) {
  struct Case {
    const char* text;
    const char* redacted;
  };
  for (const auto& [text, redacted] : std::initializer_list<Case>{
           {"proxy https://me:pw@proxy:3128/x?a@b", "proxy https://(removed)@proxy:3128/x?a@b"},
           {"Authorization: Bearer abcdef0123456789", "Authorization: Bearer (removed)"},
           {"token eyJhbGciOiJ9.eyJpc3MiOiJ9.c2lnbmF0dXJl here", "token (removed) here"},
           {"password=hunter2, user=me", "password=(removed), user=me"},
           {"password: hunter2", "password: (removed)"},
           {R"({"password":"hunter2","a":1})", R"x({"password":"(removed)","a":1})x"},
           {R"(\"token\":\"x\")", R"x(\"token\":\"(removed)\")x"},
           {"api_key=0123", "api_key=(removed)"},
           {"token: 0123456789abcdef", "token: (removed)"},
           {"token: 0123456789", "token: (removed)"},
           {"Authorization: Basic dXNlcjpodW50ZXIy", "Authorization: Basic (removed)"},
           {"Headers: map[Authorization:[Basic dXNlcjpodW50ZXIy]]",
            "Headers: map[Authorization:[Basic (removed)"},
           {"Authorization: token abcdef.0123456789", "Authorization: token (removed)"},
           {"Authorization: abcdef0123456789", "Authorization: (removed)"},
           {"auth: dXNlcjpwYXNz", "auth: (removed)"},
           {R"({"auths":{"r":{"auth":"dXNlcjpwYXNz"}}})",
            R"x({"auths":{"r":{"auth":"(removed)"}}})x"},
           {"_auth = dXNlcjpwYXNz", "_auth = (removed)"},
           {"password = hunter2", "password = (removed)"},
           {"password= hunter2\nuser=me", "password= (removed)\nuser=me"},
           {"password := hunter2", "password := (removed)"},
           {R"({"password" : "hunter2"})", R"x({"password" : "(removed)"})x"},
           {R"(password: "correct horse battery", a: b)", R"x(password: "(removed)", a: b)x"},
           {R"(password='correct "horse' a)", R"x(password='(removed)' a)x"},
           {R"({"password":"a\"b c\\","d":1})", R"x({"password":"(removed)","d":1})x"},
           {R"({\"password\":\"a\\\"b c\",\"d\":1})", R"x({\"password\":\"(removed)\",\"d\":1})x"},
           {"password=\"hunt\nrest", "password=\"(removed)\nrest"},
           {"password=ab,cd;ef&gh rest", "password=(removed) rest"},
           {R"(password=ab\cd)", "password=(removed)"},
           {R"({"password":1234,"a":1})", R"x({"password":(removed),"a":1})x"},
           {"DB_PASS=hunter2", "DB_PASS=(removed)"},
           {"dbPass: hunter2", "dbPass: (removed)"},
           {"Pwd=hunter2", "Pwd=(removed)"},
           {"machine h login u password hunter2", "machine h login u password (removed)"},
           {"machine a\n  login u\n  password x\nmachine b password y\n",
            "machine a\n  login u\n  password (removed)\nmachine b password (removed)\n"},
           {"default login u password x", "default login u password (removed)"},
           {"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
            "(removed)\nrest"},
           {"-----BEGIN PRIVATE KEY-----\nabc", "(removed)"}}) {
    EXPECT_EQ(RedactedText(text), redacted);
  }
}

TEST(RedactedText, LeavesWhatIsOnlyNear) {
  for (const char* text : {"",
                           "https://proxy:3128/path",
                           "mail@example.com",
                           "read token: permission denied",
                           "the bearer of news",
                           "secret \"licence\" not found",
                           "key=value",
                           "eyJustAWord",
                           "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
                           "a=b:c",
                           "=",
                           ":",
                           "token=",
                           "nvidia.com/gpu.product=A100",
                           "Basic authentication is off",
                           "auth: permission denied",
                           "--authorization-mode=Node,RBAC",
                           "workload=vm-passthrough",
                           "bypass: on",
                           "login with password authentication",
                           "the default password policy",
                           "the token Expired",
                           "password:\nuser: me",
                           "invalid token: no such user"}) {
    EXPECT_EQ(RedactedText(text), text);
  }
}

TEST(Redacted, SecretsKeepTheirNamesAlone) {
  const Json secret = Redacted(*ParseJson(R"({"kind": "Secret", "metadata": {"name": "s"},
      "data": {"a": "aHVudGVyMg=="}, "stringData": {"b": "hunter2"}})"));
  EXPECT_EQ(TextAt(secret, "metadata.name"), "s");
  EXPECT_EQ(TextAt(secret, "data.a"), "(removed)");
  EXPECT_EQ(TextAt(secret, "stringData.b"), "(removed)");
}

TEST(Redacted, EntriesOfConfigMapsByTheirNames) {
  const Json config_map = Redacted(*ParseJson(R"({"kind": "ConfigMap", "data": {
      "client_configuration_token": "abc", "gridd.conf": "FeatureType=1", "any": "version: v1"}})"));
  EXPECT_EQ(TextAt(config_map, "data.client_configuration_token"), "(removed)");
  EXPECT_EQ(config_map["data"]["gridd.conf"], "FeatureType=1");
  EXPECT_EQ(TextAt(config_map, "data.any"), "version: v1");
}

TEST(Redacted, VariablesWhereverTheyStand) {
  const Json set = Redacted(*ParseJson(R"({"kind": "DaemonSet", "spec": {"template": {"spec": {
      "containers": [{"env": [{"name": "NGC_API_KEY", "value": "abc"},
      {"name": "HTTPS_PROXY", "value": "http://u:p@proxy"}, {"name": "A", "value": "b"},
      {"name": "SECRET_REF", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]}}}})"));
  const std::string text = set.dump();
  EXPECT_THAT(text, Not(HasSubstr("abc")));
  EXPECT_THAT(text, HasSubstr("http://(removed)@proxy"));
  EXPECT_THAT(text, HasSubstr(R"({"name":"A","value":"b"})"));
  EXPECT_THAT(text, HasSubstr(R"("secretKeyRef":{"key":"k","name":"s"})"));
}

TEST(Redacted, SourcesOfPackagesAndTheirPasswords) {
  const Json config_map = Redacted(*ParseJson(R"({"kind": "ConfigMap", "data": {
      "cuda.repo": "[cuda]\nbaseurl = https://mirror\nusername = u\npassword = hunter2\n",
      "auth.conf": "machine mirror login u password hunter2\n"}})"));
  EXPECT_EQ(config_map["data"]["cuda.repo"],
            "[cuda]\nbaseurl = https://mirror\nusername = u\npassword = (removed)\n");
  EXPECT_EQ(config_map["data"]["auth.conf"], "machine mirror login u password (removed)\n");
}

TEST(Redacted, WhatRepeatsTheObject) {
  const Json object = Redacted(*ParseJson(R"({"metadata": {"managedFields": [{}], "annotations": {
      "kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}}})"));
  EXPECT_EQ(object, *ParseJson(R"({"metadata": {"annotations": {"a": "b"}}})"));
  EXPECT_EQ(Redacted(Json(nullptr)), Json(nullptr));
}

}  // namespace
}  // namespace gantry::doctor
