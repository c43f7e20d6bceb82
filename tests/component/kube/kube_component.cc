// SPDX-License-Identifier: Apache-2.0
// src/kube against a real API server: what it does when connections are cut, the server restarts, a
// token is exchanged, a watch expires, or somebody else writes the same object or wants the same
// lease. All cases share one control plane; each has objects of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/text.h"
#include "control_plane.h"
#include "forwarder.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/lease.h"
#include "kube/watch.h"

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Waits until something holds; tests have no other way to see that another process has acted.
template <typename Holds>
bool Eventually(Holds&& holds, milliseconds limit = seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

std::unique_ptr<ControlPlane>& Plane() {
  static std::unique_ptr<ControlPlane> plane;
  return plane;
}

class Environment : public testing::Environment {
 public:
  void SetUp() override { Plane() = std::make_unique<ControlPlane>(); }
  void TearDown() override { Plane() = nullptr; }
};

std::unique_ptr<Client> AdminClient(ClientOptions options = {}) {
  return Client::Create(Plane()->Admin(), std::move(options)).value();
}

Json ConfigMap(const std::string& name, const std::string& value,
               const std::string& label = "none") {
  Json object = NewObject(kinds::kConfigMap, {"default", name});
  object["metadata"]["labels"] = {{"test", label}};
  object["data"] = {{"key", value}};
  return object;
}

// What a watch told, in order.
class Record : public WatchSink {
 public:
  void Upsert(const Json& object) override {
    Add('+' + KeyOf(object).name + '=' + TextAt(object, "data.key"));
  }
  void Remove(const Key& key) override { Add('-' + key.name); }
  void Synced() override { Add("synced"); }
  [[nodiscard]] std::vector<std::string> told() const {
    const std::scoped_lock lock(mutex_);
    return told_;
  }
  [[nodiscard]] bool Has(const std::string& text) const {
    const std::vector<std::string> all = told();
    return std::ranges::find(all, text) != all.end();
  }

 private:
  void Add(std::string text) {
    const std::scoped_lock lock(mutex_);
    told_.push_back(std::move(text));
  }
  mutable std::mutex mutex_;
  std::vector<std::string> told_;
};

WatchOptions Quick() { return {.backoff = {.base = milliseconds(50), .limit = milliseconds(300)}}; }

// --- verbs ------------------------------------------------------------------------------------

TEST(Client, CreatesReadsChangesAndDeletes) {
  const auto client = AdminClient({.component = "test"});
  const Key key{"default", "verbs"};
  const Json made = client->Create(kinds::kConfigMap, ConfigMap("verbs", "1")).value();
  EXPECT_EQ(TextAt(made, "data.key"), "1");
  EXPECT_EQ(client->Get(kinds::kConfigMap, key).value(), made);

  const Json patched =
      client->MergePatch(kinds::kConfigMap, key, {{"data", {{"key", "2"}, {"more", "x"}}}}).value();
  EXPECT_EQ(TextAt(patched, "data.more"), "x");
  const Json operations = {{{"op", "remove"}, {"path", "/data/more"}}};
  EXPECT_FALSE(
      client->JsonPatch(kinds::kConfigMap, key, operations).value().at("data").contains("more"));

  // The version that was read first is not the stored one any more.
  EXPECT_EQ(client->Replace(kinds::kConfigMap, made).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(client->Create(kinds::kConfigMap, ConfigMap("verbs", "1")).error().kind,
            ErrorKind::kConflict);
  EXPECT_EQ(client->Delete(kinds::kConfigMap, key, {.uid = "another"}).error().kind,
            ErrorKind::kConflict);
  EXPECT_TRUE(client->Delete(kinds::kConfigMap, key).has_value());
  const Error gone = client->Get(kinds::kConfigMap, key).error();
  EXPECT_EQ(gone.kind, ErrorKind::kNotFound);
  EXPECT_EQ(gone.message, "get configmap default/verbs: configmaps \"verbs\" not found");
}

TEST(Client, ANameThatIsMissingNeverMeansAll) {
  const auto client = AdminClient();
  EXPECT_EQ(client->Delete(kinds::kConfigMap, {"default", ""}).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(client->Delete(kinds::kConfigMap, {"", "x"}).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(client->Get(kinds::kNode, {"", ""}).error().kind, ErrorKind::kInvalid);
}

TEST(Client, WrongFieldsAreNamed) {
  const auto client = AdminClient();
  Json wrong = ConfigMap("Wrong_Name", "1");
  const Error error = client->Create(kinds::kConfigMap, wrong).error();
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("metadata.name"));
}

TEST(Client, StatusIsAPartOfItsOwn) {
  const auto client = AdminClient();
  ASSERT_TRUE(client->Create(kinds::kNode, NewObject(kinds::kNode, {"", "status-node"})));
  const Json status = {{"status", {{"capacity", {{"example.com/thing", "3"}}}}}};
  const Key key{"", "status-node"};
  EXPECT_TRUE(client->MergePatch(kinds::kNode, key, status, Part::kStatus).has_value());
  const Json node = client->Get(kinds::kNode, key).value();
  EXPECT_EQ(*At(node, {"status", "capacity", "example.com/thing"}), "3");
  EXPECT_TRUE(client->Delete(kinds::kNode, key).has_value());
}

TEST(Client, ApplyOwnsItsFieldsAndNamesWhoElseDoes) {
  const auto ours = AdminClient({.field_manager = "ours"});
  const auto theirs = AdminClient({.field_manager = "theirs"});
  ASSERT_TRUE(ours->Apply(kinds::kConfigMap, ConfigMap("applied", "1")).has_value());
  const Json first = ours->Apply(kinds::kConfigMap, ConfigMap("applied", "1")).value();
  const Json again = ours->Apply(kinds::kConfigMap, ConfigMap("applied", "1")).value();
  EXPECT_EQ(ResourceVersionOf(first), ResourceVersionOf(again));

  const auto refused = theirs->Apply(kinds::kConfigMap, ConfigMap("applied", "2"), Force::kNo);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("ours"));
  EXPECT_THAT(refused.error().message, HasSubstr(".data.key"));
  const Json forced = theirs->Apply(kinds::kConfigMap, ConfigMap("applied", "2")).value();
  EXPECT_EQ(TextAt(forced, "data.key"), "2");
}

TEST(Client, ListsInPagesOneItemAtATime) {
  const auto client = AdminClient();
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(client->Create(kinds::kConfigMap, ConfigMap(format("page-{}", i), "x", "pages")));
  }
  std::set<std::string> names;
  const Result<std::string> version = client->List(
      kinds::kConfigMap, {.ns = "default", .labels = "test=pages"},
      [&names](const Json& item) {
        EXPECT_EQ(TextAt(item, "kind"), "ConfigMap");
        names.insert(KeyOf(item).name);
      },
      3);
  ASSERT_TRUE(version.has_value()) << version.error().message;
  EXPECT_FALSE(version->empty());
  EXPECT_EQ(names.size(), 7U);
}

TEST(Client, SaysWhatTheServerHas) {
  const auto client = AdminClient();
  EXPECT_EQ(TextAt(client->GetPath("/version").value(), "major"), "1");
}

// A log itself comes from a kubelet (tests/cluster).
TEST(Client, ALogIsOfAContainerThatIsThere) {
  const auto client = AdminClient();
  Json pod = NewObject(kinds::kPod, {"default", "silent"});
  pod["spec"]["containers"] = {{{"name", "c"}, {"image", "i"}}};
  ASSERT_TRUE(client->Create(kinds::kPod, pod).has_value());
  EXPECT_EQ(client->Log({"default", "silent"}, {.container = "c", .tail_lines = 5}).value(), "");
  const auto other = client->Log({"default", "silent"}, {.container = "d", .previous = true});
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(other.error().message, HasSubstr("get log of pod default/silent, container d: "));
  EXPECT_EQ(client->Log({"default", "nobody"}, {}).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(client->Log({"default", ""}, {}).error().kind, ErrorKind::kInvalid);
}

TEST(Client, EvictsAPodAndNotAgainstABudget) {
  const auto client = AdminClient();
  Json pod = NewObject(kinds::kPod, {"default", "evicted"});
  pod["metadata"]["labels"] = {{"app", "evicted"}};
  pod["spec"]["containers"] = {{{"name", "c"}, {"image", "i"}}};
  pod["spec"]["nodeName"] = "nowhere";
  ASSERT_TRUE(client->Create(kinds::kPod, pod).has_value());
  // Without a disruption controller a budget allows nothing, once the pod runs.
  constexpr Kind kBudget{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true};
  Json budget = NewObject(kBudget, {"default", "evicted"});
  budget["spec"] = {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "evicted"}}}}}};
  ASSERT_TRUE(client->Create(kBudget, budget).has_value());
  const Json running = {
      {"status",
       {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
  ASSERT_TRUE(client->MergePatch(kinds::kPod, {"default", "evicted"}, running, Part::kStatus));
  const Status refused = client->Evict({"default", "evicted"});
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable) << refused.error().message;
  ASSERT_TRUE(client->Delete(kBudget, {"default", "evicted"}).has_value());
  EXPECT_TRUE(client->Evict({"default", "evicted"}).has_value());
}

// --- connections ------------------------------------------------------------------------------

TEST(Connections, AreKeptForTheNextRequestAndNotByOneThatKeepsNone) {
  Forwarder forwarder(Plane()->api_port());
  const auto keeps = Client::Create(Plane()->Admin(forwarder.port())).value();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(keeps->Get(kinds::kNamespace, {"", "default"}).has_value());
  }
  EXPECT_EQ(forwarder.accepted(), 1);
  EXPECT_EQ(keeps->open_connections(), 1);
  const auto none =
      Client::Create(Plane()->Admin(forwarder.port()), {.max_idle_connections = 0}).value();
  ASSERT_TRUE(none->Get(kinds::kNamespace, {"", "default"}).has_value());
  EXPECT_EQ(none->open_connections(), 0);
}

TEST(Connections, AKeptOneThatWasCutIsReplaced) {
  Forwarder forwarder(Plane()->api_port());
  const auto client = Client::Create(Plane()->Admin(forwarder.port())).value();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client->Get(kinds::kNamespace, {"", "default"}).has_value());
    forwarder.Cut();
  }
  // A POST is not sent twice, so that it must not be sent on a connection that is known to be dead.
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_TRUE(client->Create(kinds::kConfigMap, ConfigMap("after-a-cut", "1")).has_value());
}

TEST(Connections, ASilentNetworkTimesOutAndAStopIsHeardAtOnce) {
  Forwarder forwarder(Plane()->api_port());
  const auto client =
      Client::Create(Plane()->Admin(forwarder.port()), {.timeout = milliseconds(300)}).value();
  forwarder.Set(Forwarder::Mode::kSwallow);
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(client->Get(kinds::kNamespace, {"", "default"}).error().kind, ErrorKind::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(2));

  std::stop_source stop;
  const auto bounded = client->Bounded(stop.get_token(), seconds(60));
  std::jthread later([&stop] {
    std::this_thread::sleep_for(milliseconds(100));
    stop.request_stop();
  });
  const Error stopped = bounded->Get(kinds::kNamespace, {"", "default"}).error();
  EXPECT_EQ(stopped.kind, ErrorKind::kUnavailable);
  EXPECT_THAT(stopped.message, HasSubstr("stopped"));
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(3));
}

TEST(Connections, AServerThatIsNotTheOneMeantIsRefused) {
  Config config = Plane()->Admin();
  config.server_name = "kubernetes.example.com";
  const auto refused = Client::Create(config).value()->Get(kinds::kNamespace, {"", "default"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("verify the server's certificate"));
  config.insecure_skip_verify = true;
  EXPECT_TRUE(Client::Create(config).value()->Get(kinds::kNamespace, {"", "default"}).has_value());
}

TEST(Connections, NobodyListens) {
  const auto client = Client::Create(Plane()->Admin(FreePort())).value();
  const Error error = client->Get(kinds::kNamespace, {"", "default"}).error();
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("get namespace default: connect https://127.0.0.1:"));
}

// --- credentials ------------------------------------------------------------------------------

// A token for a service account, bound to a Secret: it ends when that is deleted.
std::string TokenBoundTo(Client& client, const std::string& account, const std::string& secret) {
  const Json bound =
      client.Create(kinds::kSecret, NewObject(kinds::kSecret, {"default", secret})).value();
  Json request = NewObject(kinds::kServiceAccount, {"default", account});
  request["apiVersion"] = "authentication.k8s.io/v1";
  request["kind"] = "TokenRequest";
  request["spec"] = {
      {"audiences", Json::array()},
      {"boundObjectRef",
       {{"kind", "Secret"}, {"apiVersion", "v1"}, {"name", secret}, {"uid", UidOf(bound)}}}};
  // Service accounts' tokens are made by a POST below the account.
  const std::string plural = "serviceaccounts/" + account + "/token";
  const Kind token{"", "v1", "TokenRequest", plural, true};
  return TextAt(client.Create(token, request).value(), "status.token");
}

TEST(Token, IsExchangedWhileTheOldOneEnds) {
  const auto admin = AdminClient();
  ASSERT_TRUE(admin->Create(kinds::kServiceAccount,
                            NewObject(kinds::kServiceAccount, {"default", "rotated"})));
  Json role = NewObject(kinds::kClusterRole, {"", "rotated"});
  role["rules"] = {
      {{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"get", "list", "watch"}}}};
  ASSERT_TRUE(admin->Create(kinds::kClusterRole, role).has_value());
  Json binding = NewObject(kinds::kClusterRoleBinding, {"", "rotated"});
  binding["roleRef"] = {
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "rotated"}};
  binding["subjects"] = {
      {{"kind", "ServiceAccount"}, {"namespace", "default"}, {"name", "rotated"}}};
  ASSERT_TRUE(admin->Create(kinds::kClusterRoleBinding, binding).has_value());

  const std::string old_token = TokenBoundTo(*admin, "rotated", "old");
  const std::string file = Plane()->directory() + "/token";
  WriteFileText(file, old_token);
  Forwarder forwarder(Plane()->api_port());
  Config config = Plane()->Anonymous(forwarder.port());
  config.token_file = file;
  const auto client = Client::Create(config).value();
  Record record;
  Watch watch(*client, kinds::kConfigMap, {.ns = "default", .labels = "test=token"}, record,
              Quick());
  watch.Start();
  ASSERT_TRUE(Eventually([&] { return watch.synced(); }));
  EXPECT_EQ(client->Get(kinds::kNode, {"", "x"}).error().kind, ErrorKind::kDenied);

  WriteFileText(file, TokenBoundTo(*admin, "rotated", "new"));
  ASSERT_TRUE(admin->Delete(kinds::kSecret, {"default", "old"}).has_value());
  Config fixed = Plane()->Anonymous(Plane()->api_port());
  fixed.token = old_token;
  const auto outdated = Client::Create(fixed).value();
  // The server remembers for ten seconds that a token was good.
  ASSERT_TRUE(Eventually([&] {
    const auto answer = outdated->Get(kinds::kConfigMap, {"default", "x"});
    return answer.error().kind == ErrorKind::kDenied;
  }));
  EXPECT_EQ(client->Get(kinds::kConfigMap, {"default", "x"}).error().kind, ErrorKind::kNotFound);
  // The watch, opened with the old token, goes on with the new one.
  forwarder.Cut();
  ASSERT_TRUE(admin->Create(kinds::kConfigMap, ConfigMap("token", "1", "token")).has_value());
  EXPECT_TRUE(Eventually([&] { return record.Has("+token=1"); }));
  EXPECT_EQ(watch.lists(), 1);
}

// --- watches ----------------------------------------------------------------------------------

TEST(Watch, TellsWhatIsThereAndWhatChanges) {
  const auto client = AdminClient();
  ASSERT_TRUE(client->Create(kinds::kConfigMap, ConfigMap("told", "1", "told")).has_value());
  Record record;
  Watch watch(*client, kinds::kConfigMap, {.ns = "default", .labels = "test=told"}, record);
  watch.Start();
  ASSERT_TRUE(Eventually([&] { return watch.synced(); }));
  ASSERT_TRUE(client->Apply(kinds::kConfigMap, ConfigMap("told", "2", "told")).has_value());
  ASSERT_TRUE(client->Apply(kinds::kConfigMap, ConfigMap("told", "2", "other")).has_value());
  ASSERT_TRUE(client->Apply(kinds::kConfigMap, ConfigMap("told", "3", "told")).has_value());
  ASSERT_TRUE(client->Delete(kinds::kConfigMap, {"default", "told"}).has_value());
  ASSERT_TRUE(Eventually([&] { return record.told().size() >= 6; }));
  EXPECT_THAT(record.told(),
              testing::ElementsAre("+told=1", "synced", "+told=2", "-told", "+told=3", "-told"));
  const auto started = std::chrono::steady_clock::now();
  watch.Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(1));
}

TEST(Watch, GoesOnWhereAConnectionWasCut) {
  const auto admin = AdminClient();
  Forwarder forwarder(Plane()->api_port());
  const auto client = Client::Create(Plane()->Admin(forwarder.port())).value();
  for (const char* name : {"cut-a", "cut-b"}) {
    ASSERT_TRUE(admin->Create(kinds::kConfigMap, ConfigMap(name, "1", "cut")).has_value());
  }
  Record record;
  Watch watch(*client, kinds::kConfigMap, {.ns = "default", .labels = "test=cut"}, record, Quick());
  watch.Start();
  ASSERT_TRUE(Eventually([&] { return watch.synced() && watch.streams() == 1; }));
  for (int i = 2; i < 12; ++i) {
    forwarder.Cut();
    const std::string value = std::to_string(i);
    ASSERT_TRUE(admin->Apply(kinds::kConfigMap, ConfigMap("cut-a", value, "cut")).has_value());
    ASSERT_TRUE(Eventually([&] { return record.Has("+cut-a=" + value); }));
  }
  EXPECT_EQ(watch.lists(), 1);
  EXPECT_GE(watch.streams(), 5);
  // Two objects, synced, ten changes: nothing twice, nothing removed.
  EXPECT_EQ(record.told().size(), 13U);
}

TEST(Watch, AServerThatEndsItsStreamsIsAskedAgain) {
  const auto client = AdminClient();
  Record record;
  WatchOptions options = Quick();
  options.server_timeout_min = seconds(1);
  options.server_timeout_max = seconds(1);
  Watch watch(*client, kinds::kConfigMap, {.ns = "default", .labels = "test=ends"}, record,
              options);
  watch.Start();
  ASSERT_TRUE(Eventually([&] { return watch.streams() >= 3; }));
  ASSERT_TRUE(client->Create(kinds::kConfigMap, ConfigMap("ends", "1", "ends")).has_value());
  EXPECT_TRUE(Eventually([&] { return record.Has("+ends=1"); }));
  EXPECT_EQ(watch.lists(), 1);
}

TEST(Watch, AfterAnExpiredVersionOnlyTheDifferenceIsTold) {
  const auto admin = AdminClient();
  Forwarder forwarder(Plane()->api_port());
  const auto client = Client::Create(Plane()->Admin(forwarder.port())).value();
  for (const char* name : {"old-same", "old-changed", "old-gone"}) {
    ASSERT_TRUE(admin->Create(kinds::kConfigMap, ConfigMap(name, "1", "old")).has_value());
  }
  std::vector<ErrorKind> failures;
  WatchOptions options = Quick();
  std::mutex mutex;
  options.on_failure = [&](const Error& error) {
    const std::scoped_lock lock(mutex);
    failures.push_back(error.kind);
  };
  Record record;
  Watch watch(*client, kinds::kConfigMap, {.ns = "default", .labels = "test=old"}, record, options);
  watch.Start();
  ASSERT_TRUE(Eventually([&] { return watch.synced() && watch.streams() == 1; }));
  const size_t before = record.told().size();

  // The network is away while the server, restarted, forgets what was before.
  forwarder.Set(Forwarder::Mode::kRefuse);
  ASSERT_TRUE(admin->Apply(kinds::kConfigMap, ConfigMap("old-changed", "2", "old")).has_value());
  ASSERT_TRUE(admin->Delete(kinds::kConfigMap, {"default", "old-gone"}).has_value());
  ASSERT_TRUE(admin->Create(kinds::kConfigMap, ConfigMap("old-new", "1", "old")).has_value());
  Plane()->StopApiServer();
  Plane()->StartApiServer();
  EXPECT_EQ(record.told().size(), before);
  forwarder.Set(Forwarder::Mode::kPass);

  ASSERT_TRUE(Eventually([&] { return record.Has("-old-gone"); }));
  const std::vector<std::string> told = record.told();
  const std::vector<std::string> after(told.begin() + static_cast<long>(before), told.end());
  EXPECT_THAT(after, testing::UnorderedElementsAre("+old-changed=2", "+old-new=1", "-old-gone"));
  EXPECT_EQ(watch.lists(), 2);
  const std::scoped_lock lock(mutex);
  EXPECT_THAT(failures, testing::Contains(ErrorKind::kConflict));
}

TEST(Watch, AServerThatRestartsTakesNothingAway) {
  const auto client = AdminClient();
  ASSERT_TRUE(client->Create(kinds::kConfigMap, ConfigMap("stays", "1", "stays")).has_value());
  Record record;
  Watch watch(*client, kinds::kConfigMap, {.ns = "default", .labels = "test=stays"}, record,
              Quick());
  watch.Start();
  ASSERT_TRUE(Eventually([&] { return watch.synced(); }));
  Plane()->StopApiServer();
  std::this_thread::sleep_for(milliseconds(500));
  Plane()->StartApiServer();
  ASSERT_TRUE(client->Apply(kinds::kConfigMap, ConfigMap("stays", "2", "stays")).has_value());
  ASSERT_TRUE(Eventually([&] { return record.Has("+stays=2"); }));
  EXPECT_THAT(record.told(), testing::ElementsAre("+stays=1", "synced", "+stays=2"));
}

TEST(Watch, AKindThatComesLaterCountsAsEmptyUntilThen) {
  const auto client = AdminClient();
  constexpr Kind kThing{"example.com", "v1", "Thing", "things", true};
  Record record;
  WatchOptions options = Quick();
  options.absent_kind_is_empty = true;
  Watch watch(*client, kThing, {}, record, options);
  watch.Start();
  ASSERT_TRUE(Eventually([&] { return watch.synced(); }));

  Json definition = NewObject(kinds::kCustomResourceDefinition, {"", "things.example.com"});
  definition["spec"] = {
      {"group", "example.com"},
      {"scope", "Namespaced"},
      {"names", {{"plural", "things"}, {"kind", "Thing"}}},
      {"versions",
       {{{"name", "v1"},
         {"served", true},
         {"storage", true},
         {"schema",
          {{"openAPIV3Schema",
            {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}}}}}}};
  ASSERT_TRUE(client->Create(kinds::kCustomResourceDefinition, definition).has_value());
  Json thing = NewObject(kThing, {"default", "thing"});
  thing["data"] = {{"key", "1"}};
  ASSERT_TRUE(Eventually([&] { return client->Apply(kThing, thing).has_value(); }));
  EXPECT_TRUE(Eventually([&] { return record.Has("+thing=1"); }));
}

TEST(Cache, KeepsTheProjectionAndTellsWhenThatDiffers) {
  const auto client = AdminClient();
  std::mutex mutex;
  std::vector<std::string> changes;
  Cache<std::string> cache([](const Json& object) { return TextAt(object, "data.key"); },
                           [&](const Key& key, const auto& before, const auto& after) {
                             const std::scoped_lock lock(mutex);
                             changes.push_back(format("{} {}>{}", key.Text(), before ? *before : "",
                                                      after ? *after : ""));
                           });
  Watch watch(*client, kinds::kConfigMap, {.ns = "default", .labels = "test=cache"}, cache);
  watch.Start();
  std::stop_source never;
  ASSERT_TRUE(cache.WaitSynced(never.get_token()));
  const auto apply = [&client](const std::string& value, const std::string& note) {
    Json object = ConfigMap("cached", value, "cache");
    object["metadata"]["annotations"] = {{"note", note}};
    ASSERT_TRUE(client->Apply(kinds::kConfigMap, object).has_value());
  };
  apply("1", "a");
  apply("1", "b");
  apply("2", "b");
  ASSERT_TRUE(Eventually([&] {
    const auto value = cache.Get({"default", "cached"});
    return value != nullptr && *value == "2";
  }));
  ASSERT_TRUE(client->Delete(kinds::kConfigMap, {"default", "cached"}).has_value());
  ASSERT_TRUE(Eventually([&] { return cache.size() == 0; }));
  watch.Stop();
  EXPECT_THAT(changes,
              testing::ElementsAre("default/cached >1", "default/cached 1>2", "default/cached 2>"));
}

// --- leases and events ------------------------------------------------------------------------

LeaseOptions QuickLease(const std::string& name, const std::string& identity) {
  return {.lease = {"default", name},
          .identity = identity,
          .lease_duration = milliseconds(3000),
          .renew_deadline = milliseconds(1500),
          .retry_period = milliseconds(300)};
}

TEST(Lease, OneOfTwoHoldsItAndTheOtherTakesOverAtOnceAfterAStop) {
  const auto client = AdminClient();
  std::atomic<int> holders = 0;
  std::atomic<int> most = 0;
  const auto callbacks = [&] {
    return LeaseCallbacks{.acquired = [&] { most = std::max(most.load(), ++holders); },
                          .lost = [&](const Error&) { --holders; }};
  };
  // Nobody waits here until a lease has expired: the other gets it because it was given back.
  const auto options = [](const char* identity) {
    LeaseOptions longer = QuickLease("two", identity);
    longer.lease_duration = std::chrono::minutes(2);
    longer.renew_deadline = std::chrono::minutes(1);
    longer.retry_period = seconds(3);  // also the limit of giving it back
    return longer;
  };
  Lease first(*client, options("first"), callbacks());
  Lease second(*client, options("second"), callbacks());
  first.Start();
  ASSERT_TRUE(Eventually([&] { return first.held(); }));
  second.Start();
  const auto read = [&] { return client->Get(kinds::kLease, {"default", "two"}).value(); };
  const std::string before = TextAt(read(), "spec.renewTime");
  ASSERT_TRUE(Eventually([&] { return TextAt(read(), "spec.renewTime") != before; }));
  EXPECT_TRUE(first.held());
  EXPECT_FALSE(second.held());
  first.Stop();
  --holders;
  ASSERT_TRUE(Eventually([&] { return second.held(); }));
  EXPECT_EQ(most, 1);
  const Json stored = read();
  EXPECT_EQ(TextAt(stored, "spec.holderIdentity"), "second");
  EXPECT_EQ(IntAt(stored, "spec.leaseTransitions", 0), 1);
}

TEST(Lease, ALeaderThatIsCutOffStepsDownBeforeAnotherCanLead) {
  Forwarder forwarder(Plane()->api_port());
  const auto cut = Client::Create(Plane()->Admin(forwarder.port())).value();
  const auto client = AdminClient();
  using Time = std::chrono::steady_clock::time_point;
  std::mutex mutex;
  std::optional<Time> lost;
  std::optional<Time> taken;
  Lease first(*cut, QuickLease("cut", "first"),
              {.acquired = [] {},
               .lost =
                   [&](const Error&) {
                     const std::scoped_lock lock(mutex);
                     lost = std::chrono::steady_clock::now();
                   }});
  Lease second(*client, QuickLease("cut", "second"),
               {.acquired =
                    [&] {
                      const std::scoped_lock lock(mutex);
                      taken = std::chrono::steady_clock::now();
                    },
                .lost = [](const Error&) {}});
  first.Start();
  ASSERT_TRUE(Eventually([&] { return first.held(); }));
  second.Start();
  std::this_thread::sleep_for(seconds(1));
  const Time swallowed = std::chrono::steady_clock::now();
  forwarder.Set(Forwarder::Mode::kSwallow);
  ASSERT_TRUE(Eventually([&] { return second.held(); }));
  const std::scoped_lock lock(mutex);
  ASSERT_TRUE(lost.has_value());
  EXPECT_LT(*lost, *taken);
  EXPECT_LT(*lost - swallowed, milliseconds(1500 + 300));
}

TEST(Events, RepeatsBecomeOneEventWithACount) {
  const auto client = AdminClient();
  const Json about =
      client->Create(kinds::kConfigMap, ConfigMap("eventful", "1", "events")).value();
  std::vector<Json> events;
  {
    EventRecorder recorder(*client, "gantry-test", "node-1");
    for (int i = 1; i <= 50; ++i) {
      recorder.Warning(about, "BadConfig", format("replicas must be positive ({})", i));
    }
    recorder.Normal(about, "Fine", "all is well");
    const auto read = [&] {
      events.clear();
      const auto listed = client->List(kinds::kEvent, {.ns = "default"}, [&](const Json& item) {
        if (TextAt(item, "involvedObject.name") == "eventful") {
          events.push_back(item);
        }
      });
      return listed.has_value() && events.size() == 2;
    };
    ASSERT_TRUE(Eventually(read));
  }
  const Json& warning = TextAt(events[0], "type") == "Warning" ? events[0] : events[1];
  EXPECT_EQ(TextAt(warning, "reason"), "BadConfig");
  EXPECT_EQ(TextAt(warning, "involvedObject.uid"), UidOf(about));
  EXPECT_EQ(TextAt(warning, "source.component"), "gantry-test");
  EXPECT_EQ(TextAt(warning, "reportingInstance"), "node-1");
  EXPECT_GE(IntAt(warning, "count", 0), 1);
}

}  // namespace
}  // namespace gantry::kube

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new gantry::kube::Environment);
  return RUN_ALL_TESTS();
}
