// SPDX-License-Identifier: Apache-2.0
// Which features does an x86 processor have, under NFD's names? The bits are documented in Intel's
// manual (volume 2, CPUID) and AMD's (volume 3, appendix E). Some features count only with another
// one, or if the operating system saves the registers that they need.
#include "operands/node_features/cpu_leaves.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "base/text.h"

namespace gantry::node_features {
namespace {

using Names = std::set<std::string, std::less<>>;

enum class Register { kEax, kEbx, kEcx, kEdx };
using enum Register;

// An additional condition.
enum class If { kAlways, kAmd, kSaved512 };
using enum If;

struct Bit {
  uint32_t leaf;
  uint32_t sub_leaf;
  Register in;
  unsigned bit;
  const char* name;
  If only = kAlways;
  const char* with = "";  // a feature above it in this table
};

constexpr Bit kBits[] = {
    {1, 0, kEdx, 0, "X87"},
    {1, 0, kEdx, 8, "CMPXCHG8"},
    {1, 0, kEdx, 11, "SYSEE"},
    {1, 0, kEdx, 15, "CMOV"},
    {1, 0, kEdx, 23, "MMX"},
    {1, 0, kEdx, 24, "FXSR"},
    {1, 0, kEdx, 25, "FXSROPT"},  // NFD uses the bit of SSE for it
    {1, 0, kEdx, 25, "SSE"},
    {1, 0, kEdx, 26, "SSE2"},
    {1, 0, kEcx, 0, "SSE3"},
    {1, 0, kEcx, 1, "CLMUL"},
    {1, 0, kEcx, 5, "VMX"},
    {1, 0, kEcx, 9, "SSSE3"},
    {1, 0, kEcx, 13, "CX16"},
    {1, 0, kEcx, 19, "SSE4"},
    {1, 0, kEcx, 20, "SSE42"},
    {1, 0, kEcx, 22, "MOVBE"},
    {1, 0, kEcx, 23, "POPCNT"},
    {1, 0, kEcx, 25, "AESNI"},
    {1, 0, kEcx, 26, "XSAVE"},
    {1, 0, kEcx, 27, "OSXSAVE"},
    {1, 0, kEcx, 29, "F16C"},
    {1, 0, kEcx, 30, "RDRAND"},
    {1, 0, kEcx, 31, "HYPERVISOR"},
    {1, 0, kEcx, 12, "FMA3", kAlways, "OSXSAVE"},
    {7, 0, kEbx, 2, "SGX"},
    {7, 0, kEbx, 3, "BMI1"},
    {7, 0, kEbx, 4, "HLE"},
    {7, 0, kEbx, 5, "AVX2", kAlways, "AVX"},
    {7, 0, kEbx, 8, "BMI2", kAlways, "BMI1"},
    {7, 0, kEbx, 9, "ERMS"},
    {7, 0, kEbx, 11, "RTM"},
    {7, 0, kEbx, 14, "MPX"},
    {7, 0, kEbx, 16, "AVX512F", kSaved512},
    {7, 0, kEbx, 17, "AVX512DQ", kSaved512},
    {7, 0, kEbx, 18, "RDSEED"},
    {7, 0, kEbx, 19, "ADX"},
    {7, 0, kEbx, 21, "AVX512IFMA", kSaved512},
    {7, 0, kEbx, 26, "AVX512PF", kSaved512},
    {7, 0, kEbx, 27, "AVX512ER", kSaved512},
    {7, 0, kEbx, 28, "AVX512CD", kSaved512},
    {7, 0, kEbx, 29, "SHA"},
    {7, 0, kEbx, 30, "AVX512BW", kSaved512},
    {7, 0, kEbx, 31, "AVX512VL", kSaved512},
    {7, 0, kEcx, 1, "AVX512VBMI", kSaved512},
    {7, 0, kEcx, 3, "AMXFP8", kSaved512},
    {7, 0, kEcx, 5, "WAITPKG"},
    {7, 0, kEcx, 6, "AVX512VBMI2", kSaved512},
    {7, 0, kEcx, 7, "CETSS"},
    {7, 0, kEcx, 8, "GFNI"},
    {7, 0, kEcx, 9, "VAES"},
    {7, 0, kEcx, 10, "VPCLMULQDQ"},
    {7, 0, kEcx, 11, "AVX512VNNI", kSaved512},
    {7, 0, kEcx, 12, "AVX512BITALG", kSaved512},
    {7, 0, kEcx, 13, "TME"},
    {7, 0, kEcx, 14, "AVX512VPOPCNTDQ", kSaved512},
    {7, 0, kEcx, 23, "KEYLOCKER"},
    {7, 0, kEcx, 25, "CLDEMOTE"},
    {7, 0, kEcx, 27, "MOVDIRI"},
    {7, 0, kEcx, 28, "MOVDIR64B"},
    {7, 0, kEcx, 29, "ENQCMD"},
    {7, 0, kEcx, 30, "SGXLC"},
    {7, 0, kEdx, 4, "FSRM"},
    {7, 0, kEdx, 8, "AVX512VP2INTERSECT", kSaved512},
    {7, 0, kEdx, 9, "SRBDS_CTRL"},
    {7, 0, kEdx, 10, "MD_CLEAR"},
    {7, 0, kEdx, 11, "RTM_ALWAYS_ABORT"},
    {7, 0, kEdx, 14, "SERIALIZE"},
    {7, 0, kEdx, 15, "HYBRID_CPU"},
    {7, 0, kEdx, 16, "TSXLDTRK"},
    {7, 0, kEdx, 18, "PCONFIG"},
    {7, 0, kEdx, 20, "CETIBT"},
    {7, 0, kEdx, 22, "AMXBF16", kSaved512},
    {7, 0, kEdx, 23, "AVX512FP16", kSaved512},
    {7, 0, kEdx, 24, "AMXTILE", kSaved512},
    {7, 0, kEdx, 25, "AMXINT8", kSaved512},
    {7, 0, kEdx, 26, "IBPB"},
    {7, 0, kEdx, 27, "STIBP"},
    {7, 0, kEdx, 28, "FLUSH_L1D"},
    {7, 0, kEdx, 29, "IA32_ARCH_CAP"},
    {7, 0, kEdx, 30, "IA32_CORE_CAP"},
    {7, 0, kEdx, 31, "SPEC_CTRL_SSBD"},
    {7, 1, kEax, 1, "SM3_X86"},
    {7, 1, kEax, 2, "SM4_X86"},
    {7, 1, kEax, 4, "AVXVNNI", kAlways, "AVX"},
    {7, 1, kEax, 5, "AVX512BF16", kSaved512},
    {7, 1, kEax, 7, "CMPCCXADD"},
    {7, 1, kEax, 10, "MOVSB_ZL"},
    {7, 1, kEax, 11, "STOSB_SHORT"},
    {7, 1, kEax, 12, "CMPSB_SCADBS_SHORT"},
    {7, 1, kEax, 17, "FRED"},
    {7, 1, kEax, 19, "WRMSRNS", kSaved512},
    {7, 1, kEax, 21, "AMXFP16", kSaved512},
    {7, 1, kEax, 22, "HRESET"},
    {7, 1, kEax, 23, "AVXIFMA"},
    {7, 1, kEax, 26, "LAM"},
    {7, 1, kEax, 27, "MSRLIST", kSaved512},
    {7, 1, kEdx, 4, "AVXVNNIINT8"},
    {7, 1, kEdx, 5, "AVXNECONVERT"},
    {7, 1, kEdx, 6, "AMXTRANSPOSE"},
    {7, 1, kEdx, 7, "AMXTF32"},
    {7, 1, kEdx, 8, "AMXCOMPLEX"},
    {7, 1, kEdx, 10, "AVXVNNIINT16"},
    {7, 1, kEdx, 14, "PREFETCHI"},
    {7, 1, kEdx, 19, "AVX10"},
    {7, 1, kEdx, 21, "APX_F"},
    {7, 2, kEdx, 0, "PSFD"},
    {7, 2, kEdx, 1, "IDPRED_CTRL"},
    {7, 2, kEdx, 2, "RRSBA_CTRL"},
    {7, 2, kEdx, 4, "BHI_CTRL"},
    {7, 2, kEdx, 5, "MCDT_NO"},
    {0xd, 1, kEax, 0, "XSAVEOPT", kAlways, "XSAVE"},
    {0xd, 1, kEax, 1, "XSAVEC", kAlways, "XSAVE"},
    {0xd, 1, kEax, 2, "XGETBV1", kAlways, "XSAVE"},
    {0xd, 1, kEax, 3, "XSAVES", kAlways, "XSAVE"},
    {0x12, 0, kEax, 12, "SGXPQC", kAlways, "SGX"},
    {0x24, 0, kEbx, 16, "AVX10_128", kAlways, "AVX10"},
    {0x24, 0, kEbx, 17, "AVX10_256", kAlways, "AVX10"},
    {0x24, 0, kEbx, 18, "AVX10_512", kAlways, "AVX10"},
    {0x80000001, 0, kEcx, 0, "LAHF"},
    {0x80000001, 0, kEcx, 2, "SVM"},
    {0x80000001, 0, kEcx, 5, "LZCNT"},
    {0x80000001, 0, kEcx, 5, "POPCNT"},
    {0x80000001, 0, kEcx, 6, "SSE4A"},
    {0x80000001, 0, kEcx, 10, "IBS"},
    {0x80000001, 0, kEcx, 11, "XOP", kAlways, "AVX"},
    {0x80000001, 0, kEcx, 16, "FMA4", kAlways, "AVX"},
    {0x80000001, 0, kEcx, 22, "TOPEXT"},
    {0x80000001, 0, kEdx, 11, "SYSCALL"},
    {0x80000001, 0, kEdx, 20, "NX"},
    {0x80000001, 0, kEdx, 22, "MMXEXT"},
    {0x80000001, 0, kEdx, 23, "MMX"},
    {0x80000001, 0, kEdx, 24, "FXSR"},
    {0x80000001, 0, kEdx, 25, "FXSROPT"},
    {0x80000001, 0, kEdx, 27, "RDTSCP"},
    {0x80000001, 0, kEdx, 30, "AMD3DNOWEXT"},
    {0x80000001, 0, kEdx, 31, "AMD3DNOW"},
    {0x80000007, 0, kEbx, 0, "MCAOVERFLOW"},
    {0x80000007, 0, kEbx, 1, "SUCCOR"},
    {0x80000007, 0, kEbx, 2, "HWA"},
    {0x80000007, 0, kEdx, 9, "CPBOOST"},
    {0x80000008, 0, kEbx, 0, "CLZERO"},
    {0x80000008, 0, kEbx, 1, "MSRIRC"},
    {0x80000008, 0, kEbx, 3, "INVLPGB"},
    {0x80000008, 0, kEbx, 4, "RDPRU"},
    {0x80000008, 0, kEbx, 8, "MCOMMIT"},
    {0x80000008, 0, kEbx, 9, "WBNOINVD"},
    {0x80000008, 0, kEbx, 12, "IBPB"},
    {0x80000008, 0, kEbx, 13, "INT_WBINVD"},
    {0x80000008, 0, kEbx, 14, "IBRS"},
    {0x80000008, 0, kEbx, 15, "STIBP"},
    {0x80000008, 0, kEbx, 17, "STIBP_ALWAYSON"},
    {0x80000008, 0, kEbx, 18, "IBRS_PREFERRED"},
    {0x80000008, 0, kEbx, 19, "IBRS_PROVIDES_SMP"},
    {0x80000008, 0, kEbx, 20, "EFER_LMSLE_UNS"},
    {0x80000008, 0, kEbx, 21, "TLB_FLUSH_NESTED"},
    {0x80000008, 0, kEbx, 23, "PPIN"},
    {0x80000008, 0, kEbx, 24, "SPEC_CTRL_SSBD"},
    {0x80000008, 0, kEbx, 27, "CPPC"},
    {0x80000008, 0, kEbx, 28, "PSFD"},
    {0x8000000a, 0, kEdx, 0, "SVMNP", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 1, "LBRVIRT", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 2, "SVML", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 3, "NRIPS", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 4, "TSCRATEMSR", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 5, "VMCBCLEAN", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 6, "SVMFBASID", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 7, "SVMDA", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 10, "SVMPF", kAlways, "SVM"},
    {0x8000000a, 0, kEdx, 12, "SVMPFT", kAlways, "SVM"},
    {0x8000001a, 0, kEax, 0, "FP128"},
    {0x8000001a, 0, kEax, 1, "MOVU"},
    {0x8000001a, 0, kEax, 2, "FP256"},
    {0x8000001b, 0, kEax, 0, "IBSFFV", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 1, "IBSFETCHSAM", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 2, "IBSOPSAM", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 3, "IBSRDWROPCNT", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 4, "IBSOPCNT", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 5, "IBSBRNTRGT", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 6, "IBSOPCNTEXT", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 7, "IBSRIPINVALIDCHK", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 8, "IBS_OPFUSE", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 9, "IBS_FETCH_CTLX", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 10, "IBS_OPDATA4", kAlways, "IBS"},
    {0x8000001b, 0, kEax, 11, "IBS_ZEN4", kAlways, "IBS"},
    {0x8000001f, 0, kEax, 0, "SME", kAmd},
    {0x8000001f, 0, kEax, 1, "SEV", kAmd},
    {0x8000001f, 0, kEax, 2, "MSR_PAGEFLUSH", kAmd},
    {0x8000001f, 0, kEax, 3, "SEV_ES", kAmd},
    {0x8000001f, 0, kEax, 4, "SEV_SNP", kAmd},
    {0x8000001f, 0, kEax, 5, "VMPL", kAmd},
    {0x8000001f, 0, kEax, 10, "SME_COHERENT", kAmd},
    {0x8000001f, 0, kEax, 11, "SEV_64BIT", kAmd},
    {0x8000001f, 0, kEax, 12, "SEV_RESTRICTED", kAmd},
    {0x8000001f, 0, kEax, 13, "SEV_ALTERNATIVE", kAmd},
    {0x8000001f, 0, kEax, 14, "SEV_DEBUGSWAP", kAmd},
    {0x8000001f, 0, kEax, 15, "IBS_PREVENTHOST", kAmd},
    {0x8000001f, 0, kEax, 16, "VTE", kAmd},
    {0x8000001f, 0, kEax, 24, "VMSA_REGPROT", kAmd},
    {0x80000021, 0, kEax, 5, "TSA_VERW_CLEAR", kAmd},
    {0x80000021, 0, kEax, 23, "AVX512BMM", kAmd},
    {0x80000021, 0, kEax, 27, "SBPB", kAmd},
    {0x80000021, 0, kEax, 28, "IBPB_BRTYPE", kAmd},
    {0x80000021, 0, kEax, 29, "SRSO_NO", kAmd},
    {0x80000021, 0, kEax, 30, "SRSO_USER_KERNEL_NO", kAmd},
    {0x80000021, 0, kEax, 31, "SRSO_MSR_FIX", kAmd},
    {0x80000021, 0, kEcx, 1, "TSA_L1_NO", kAmd},
    {0x80000021, 0, kEcx, 2, "TSA_SQ_NO", kAmd},
};

// The features that each level of the x86-64 ABI adds to the one below it.
const std::initializer_list<std::string_view> kLevels[] = {
    {"CMOV", "CMPXCHG8", "X87", "FXSR", "MMX", "SSE", "SSE2"},
    {"CX16", "LAHF", "POPCNT", "SSE3", "SSE4", "SSE42", "SSSE3"},
    {"AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA3", "LZCNT", "MOVBE", "OSXSAVE"},
    {"AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"}};

// Leaves of which more than one bit is read.
constexpr uint32_t kTopology = 0xb;
constexpr uint32_t kCounters = 0xa;
constexpr uint32_t kKeyLocker = 0x19;
constexpr uint32_t kTdxGuest = 0x21;
constexpr uint32_t kAvx10 = 0x24;
constexpr uint32_t kHyperVIsolation = 0x4000000c;
constexpr uint32_t kAmdTopology = 0x8000001e;

bool Has(uint32_t word, unsigned bit) { return ((word >> bit) & 1U) != 0; }

uint32_t Word(const CpuidRegisters& registers, Register in) {
  switch (in) {
    case kEax:
      return registers.eax;
    case kEbx:
      return registers.ebx;
    case kEcx:
      return registers.ecx;
    case kEdx:
      return registers.edx;
  }
  return 0;
}

std::string Letters(std::initializer_list<uint32_t> words) {
  std::string letters;
  for (const uint32_t word : words) {
    std::array<char, sizeof(word)> part{};
    std::memcpy(part.data(), &word, sizeof(word));
    letters.append(part.begin(), part.end());
  }
  return letters;
}

// One processor to describe.
class LeafReader {
 public:
  explicit LeafReader(const CpuidLeaves& leaves)
      : leaves_(leaves), first_(leaves.At(1)), most_(leaves.At(0).eax) {
    const CpuidRegisters zero = leaves.At(0);
    const std::string vendor = Letters({zero.ebx, zero.edx, zero.ecx});
    amd_ = vendor == "AuthenticAMD" || vendor == "AMDisbetter!";
    intel_ = vendor == "GenuineIntel";
    constexpr uint32_t kLastFamily = 0xf;
    const uint32_t base = (first_.eax >> 8U) & 0xfU;
    family_ = base + (base == kLastFamily ? (first_.eax >> 20U) & 0xffU : 0);
    model_ = (first_.eax >> 4U) & 0xfU;
    model_ += base == kLastFamily || base == 6 ? (first_.eax >> 12U) & 0xf0U : 0;
  }

  Names Read() {
    ReadAvx();
    for (const Bit& bit : kBits) {
      const bool counts = (bit.only != kAmd || amd_) && (bit.only != kSaved512 || SavesAvx512()) &&
                          (*bit.with == '\0' || names_.contains(bit.with));
      if (counts && Has(Word(leaves_.At(bit.leaf, bit.sub_leaf), bit.in), bit.bit)) {
        names_.emplace(bit.name);
      }
    }
    ReadOthers();
    ReadCounters();
    ReadLevels();
    return std::move(names_);
  }

 private:
  void AddIf(bool has, const char* name) {
    if (has) {
      names_.emplace(name);
    }
  }

  // Registers of 256 and of 512 bits: XCR0's bits 1 and 2, and 5 to 7.
  [[nodiscard]] bool Saves256() const {
    return Has(first_.ecx, 26) && Has(first_.ecx, 27) && (leaves_.xcr0 & 0x06U) == 0x06U;
  }
  [[nodiscard]] bool SavesAvx512() const { return Saves256() && (leaves_.xcr0 & 0xe0U) == 0xe0U; }

  void ReadAvx() {
    if (!Has(first_.ecx, 28) || !Saves256()) {
      return;
    }
    names_.emplace("AVX");
    constexpr uint32_t kHaswell = 60;
    constexpr uint32_t kZen = 23;
    constexpr uint32_t kZen2 = 49;
    AddIf((intel_ && family_ == 6 && model_ < kHaswell) ||
              (amd_ && (family_ < kZen || (family_ == kZen && model_ < kZen2))),
          "AVXSLOW");
  }

  void ReadOthers() {
    AddIf((intel_ || amd_) && Has(first_.edx, 28) && most_ >= 4 && ThreadsOfCore() > 1, "HTT");
    constexpr uint32_t kWide = 5;  // bits 0 and 2
    AddIf(names_.contains("KEYLOCKER") && (leaves_.At(kKeyLocker).ebx & kWide) == kWide,
          "KEYLOCKERW");
    // AMD's before family 19h, and some of 1Ah, have no bits for what they do not need.
    constexpr uint32_t kZen3 = 0x19;
    constexpr uint32_t kZen5 = 0x1a;
    const bool safe =
        amd_ && (family_ < kZen3 ||
                 (family_ == kZen5 && (model_ <= 0x4f || (model_ >= 0x60 && model_ <= 0x7f))));
    AddIf(safe, "TSA_L1_NO");
    AddIf(safe, "TSA_SQ_NO");
    const CpuidRegisters guest = leaves_.At(kTdxGuest);
    constexpr uint32_t kHyperVTdx = 0xbe3;
    AddIf(most_ >= 0x20 && leaves_.At(kHyperVIsolation).ebx == kHyperVTdx, "TDX_GUEST");
    AddIf(Letters({guest.ebx, guest.edx, guest.ecx}) == "IntelTDX    ", "TDX_GUEST");
  }

  [[nodiscard]] uint32_t ThreadsOfCore() const {
    if (most_ < kTopology) {
      const uint32_t logical = (first_.ebx >> 16U) & 0xffU;
      return intel_ && logical > 1 ? logical / ((leaves_.At(4).eax >> 26U) + 1) : 1;
    }
    const uint32_t threads = leaves_.At(kTopology).ebx & 0xffffU;
    if (threads != 0) {
      return threads;
    }
    constexpr uint32_t kZen = 23;
    if (!amd_ || family_ < kZen) {
      return 1;
    }
    return leaves_.At(0x80000000).eax >= kAmdTopology
               ? ((leaves_.At(kAmdTopology).ebx >> 8U) & 0xffU) + 1
               : 2;
  }

  // Performance monitoring: a set bit of EBX means that a counter is missing.
  void ReadCounters() {
    static constexpr const char* kNames[] = {
        "PMU_FIXEDCOUNTER_INSTRUCTIONS", "PMU_FIXEDCOUNTER_CYCLES", "PMU_FIXEDCOUNTER_REFCYCLES",
        "PMU_FIXEDCOUNTER_TOPDOWN_SLOTS"};
    const CpuidRegisters counters = leaves_.At(kCounters);
    const uint32_t version = counters.eax & 0xffU;
    const uint32_t fixed = version > 1 ? counters.edx & 0x1fU : 0;
    for (unsigned i = 0; version > 0 && i < std::size(kNames); ++i) {
      AddIf(counters.ebx != 0 ? !Has(counters.ebx, i) : i < fixed && (fixed == 3 || fixed == 4),
            kNames[i]);
    }
  }

  void ReadLevels() {
    if (!names_.contains("SYSEE") && !names_.contains("SYSCALL")) {
      return;
    }
    for (size_t i = 0; i < std::size(kLevels); ++i) {
      if (!std::ranges::all_of(kLevels[i],
                               [this](std::string_view name) { return names_.contains(name); })) {
        return;
      }
      names_.insert(format("X86_64_V{}", i + 1));
    }
  }

  const CpuidLeaves& leaves_;
  const CpuidRegisters first_;  // leaf 1
  const uint32_t most_;         // the last leaf that it has
  bool amd_ = false;
  bool intel_ = false;
  uint32_t family_ = 0;
  uint32_t model_ = 0;
  Names names_;
};

}  // namespace

CpuidRegisters CpuidLeaves::At(uint32_t leaf, uint32_t sub_leaf) const {
  const auto found = registers.find({leaf, sub_leaf});
  return found == registers.end() ? CpuidRegisters() : found->second;
}

std::vector<CpuidLeaf> AskedLeaves() {
  std::set<CpuidLeaf> asked;
  for (const uint32_t leaf : {0U, 4U, kTopology, kCounters, kKeyLocker, kTdxGuest, kAvx10,
                              kHyperVIsolation, 0x80000000U, kAmdTopology}) {
    asked.insert({leaf, 0});
  }
  for (const Bit& bit : kBits) {
    asked.insert({bit.leaf, bit.sub_leaf});
  }
  return {asked.begin(), asked.end()};
}

Names CpuFlags(const CpuidLeaves& leaves) {
  return leaves.At(0).eax < 1 ? Names() : LeafReader(leaves).Read();
}

unsigned Avx10Version(const CpuidLeaves& leaves) {
  constexpr unsigned kAvx10Bit = 19;  // EDX of leaf 7, sub-leaf 1
  return Has(leaves.At(7, 1).edx, kAvx10Bit) ? leaves.At(kAvx10).ebx & 0xffU : 0;
}

}  // namespace gantry::node_features
