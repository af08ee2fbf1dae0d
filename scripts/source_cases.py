"""Files that scripts/check-sources must refuse or accept: its self-test. Each case is (path, text, whether it
must be refused)."""

OK = "// order: release; pairs with await\n"
CASES = [
    ("src/base/a.hpp", "int a;\n" * 400, False),
    ("src/base/b.hpp", "int a;\n" * 401, True),
    ("tests/tool/check-a", "#!/bin/sh\n" + "a=1\n" * 400, True),
    ("tests/tool/CMakeLists.txt", "set(a 1)\n" * 401, True),
    ("docs/a.md", "A line.\n" * 401, False),
    ("include/fermata/fermata.h", "int a;\n" * 400, False),
    ("include/fermata/fermata.h", "int a;\n" * 401, True),
    ("src/base/c.hpp", "// " + "x" * 107 + "\n", False),
    ("src/base/c.hpp", "// " + "x" * 108 + "\n", True),
    ("scripts/a", "#!/bin/sh\n# " + "x" * 109 + "\n", True),
    ("docs/a.md", "x" * 111 + "\n", True),
    ("docs/a.md", "|" + "x" * 111 + "|\n", False),
    ("src/base/e.hpp", "int a;\t\n", True),
    ("src/base/d.hpp", 'const char* p = "/' 'home/somebody/x";\n', True),
    ("README.md", "see /" "root/build\n", True),
    ("README.md", "see build/" "root/x and /" "tmp/x and https://x.org/" "work/y\n", False),
    ("src/sync/a.hpp", OK + "flag.store(1, order);\n", False),
    ("src/sync/b.hpp", "flag.store(1, order);  // order: release; pairs with await\n", False),
    ("src/sync/c.hpp", OK + "flag.store(\n    a + b,\n    std::memory_order_release);\n", False),
    ("src/sync/d.hpp", OK + "while (x &&\n       flag.load(std::memory_order_acquire) < n) {}\n", False),
    ("src/sync/e.hpp", "flag.store(1, order);\n", True),
    ("src/sync/f.hpp", "int x;\n// hello\nflag.load(std::memory_order_acquire);\n", True),
    ("src/sync/g.hpp", OK + "int x;\nflag.load(std::memory_order_acquire);\n", True),
    ("src/sync/k.hpp", OK + "for (int n = 0;\n     A::load_acquire(word) < n;) {}\n", False),
    ("src/sync/h.hpp", "x = A::template load_acquire<Site::kSlotAwait>(word);\n", True),
    ("src/sync/i.hpp", OK + "x = A::template load_acquire<Site::kSlotAwait>(word);\n", False),
    ("src/sync/j.hpp", "A::template full_fence<Site::kRingFence>();\n", True),
    ("src/exec/a.cpp", "std::atomic_thread_fence(std::memory_order_seq_cst);\n", True),
    ("src/exec/b.cpp", OK + "std::atomic_thread_fence(std::memory_order_seq_cst);\n", False),
    ("src/exec/c.cpp", OK + "x = flag.load();\n", True),
    ("src/exec/d.cpp", OK + "flag.store(f(1, 2));\n", True),
    ("src/exec/e.cpp", OK + "word.fetch_add(1);\n", True),
    ("src/exec/f.cpp", OK + "word.compare_exchange_strong(a, b);\n", True),
    ("src/topo/a.cpp", "flag.load(std::memory_order_acquire);\n", False),
    ("src/topo/b.cpp", "auto x = flag.load();\n", True),
    ("src/topo/c.cpp", "// flag.load()\nauto s = \"a.load()\"; v.clear();\n", False),
    ("src/os/a.cpp", "std::atomic<int> n{0};\nvoid f() { ++n; }\n", True),
    ("src/os/b.cpp", "std::atomic<int> n{0};\nvoid f() { n += 2; }\n", True),
    ("src/os/c.cpp", "struct S { std::atomic<int> n{0}; };\nvoid f(S& s) { s.n = 2; }\n", True),
    ("src/os/d.cpp", "std::atomic<int> n = 0;\nbool f(int m) { return m == 2; }\n", False),
    ("src/os/e.cpp", "struct S { std::atomic<int> n{0}; };\nint f(S& s) {\n int n = 1;\n n += 2;\n return "
     "n;\n}\n", False),
    ("src/os/f.cpp", "struct S { std::atomic<int> n{0}; };\nint f(S* s) {\n int n = 1;\n s->n += 2;\n return "
     "n;\n}\n", True),
    ("src/os/g.cpp", "struct S { std::atomic<int> n{0}; };\nvoid f(S* s) { ++s->n; }\n", True),
    ("preload/pthread/a.cpp", "flag.load(std::memory_order_acquire);\n", True),
    ("preload/pthread/b.cpp", OK + "flag.load(std::memory_order_acquire);\n", False),
    ("src/profile/a.cpp", "flag.load(std::memory_order_acquire);\n", True),
    ("src/api/a.cpp", 'const char* x = std::getenv("X");\n', True),
    ("src/os/linux/environment.cpp", 'const char* x = secure_getenv("FERMATA_X");\n', False),
    ("src/os/linux/other.cpp", 'const char* x = secure_getenv("FERMATA_X");\n', True),
    ("preload/mpi/a.cpp", 'bool x = is_set("FERMATA_X");\n', True),
    ("tools/fermata/a.cpp", 'setenv("FERMATA_X", "1", 1);\n', True),
    ("bench/a.cpp", 'execl(program, "FERMATA_X=", nullptr);\n', True),
    ("tests/b.cpp", 'setenv("FERMATA_X", "1", 1);\n', False),
    ("src/api/b.cpp", 'const char* x = secure_getenv("X");  // not getenv()\n', False),
    ("preload/mpi/a.cpp", "if (memory == nullptr) abort();\n", True),
    ("preload/mpi/b.cpp", "fermata_team_abort(team);  // not abort()\n", False),
    ("tests/a.cpp", "auto x = flag.load();\n", False),
]

# (text, lines of the function but for @): @ stands for the lines of its body.
FUNCTIONS = [
    ("void f() {\n@}\n", 2),
    ("namespace a {\nnamespace {\nint f(int a,\n      int b) {\n@}\n}\n}\n", 3),
    ("class C : public B<int> {\n public:\n  C(int a)\n      : a_{a}, b_(a) {\n@  }\n  int a_;\n};\n", 3),
    ("struct [[nodiscard]] alignas(64) S {\n  void f() {\n@  }\n};\n", 2),
    ("struct point make(int x) {\n@}\n", 2),
    ("TEST(Suite, Name) {\n@}\n", 2),
    ("MACRO(a, b)\n\nvoid f() {\n@}\n", 2),
    ('extern "C" {\nint f(void) {\n@}\n}\n', 2),
    ("void f() {\n  auto g = [&](int a) {\n@  };\n}\n", 4),
    ("const auto kF = [](int a) {\n@};\n", 2),
    ("int a = 0;\ntemplate <class T, class U = std::vector<T>>\nauto f(T t = {}) -> decltype(t) {\n@}\n", 3),
    ("template <class T>\n  requires(sizeof(T) > 1)\nint f(const std::function<void(T)>& g = {}) {\n@}\n", 4),
    ("bool C::operator()(int a) const noexcept {\n@}\n", 2),
    ("C& C::operator=(C&& c) {\n@}\n", 2),
    ("C::operator bool() const {\n@}\n", 2),
    ("int (*find(int a))(int b) {\n@}\n", 2),
    ("int main() try {\n@} catch (...) {\n}\n", 3),
    ("#if A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n@}\n", 5),
    ("#if A\nvoid f() {}\n#else\nvoid f() {\n@}\n#endif\n", 2),
    ('void f() {\n  s = "}";  // }\n  c = \'}\'; /* } */ r = R"(})";\n@}\n', 4),
    ("void f() {\n  struct S {\n    void g() {\n@    }\n  };\n}\n", 6),
]
NO_FUNCTIONS = [
    "class C {\n public:\n@};\n",
    "class C {\n" + "  void f() { g(); }\n" * 70 + "};\n",
    "namespace a {\n" + "void f() {\n}\n" * 70 + "}\n",
    "enum class E : int {\n" + "  a,\n" * 70 + "};\n",
    "constexpr Row kTable[] = {\n" + "  {f(1), 2},\n" * 70 + "};\n",
    "const std::vector<int> table{\n" + "  f(1),\n" * 70 + "};\n",
    "int f(\n" + "  int,\n" * 70 + "  int);\n",
]

# (text, whether its words are refused), in a comment and in a document
WORDS = [
    ("The crew sleeps.", True),
    ("The member lends its block.", True),
    ("The trunk has the port.", True),
    ("A branch of the team has no port.", True),
    ("The code has one branch.", False),
    ("Such a rank is excused.", True),
    ("The hosts of this house meet.", True),
    ("The receiver has room for it.", False),
    ("The council decides.", True),
    ("The payload rides on the line.", True),
    ("The payload rides\n// on the line.", True),
    ("It waits in vain.", True),
    ("This is the flag of who waits.", True),
    ("Who parks pays for the fence.", True),
    ("Who is late?", False),
    ("The table says who signals whom.", False),
    ("Of two ranks the lower one sends.", True),
    ("Of course it may.", False),
    ("See `crew`, crew_size, lend(), trunk::port and bench/crew.hpp.", False),
]


def cases():
    yield from CASES
    for number, (text, others) in enumerate(FUNCTIONS):
        line = "  int a;  \\\n" if text.startswith("#define") else "  int a = f({1, 2});\n"
        for lines in (60, 61):
            yield f"tests/unit/f{number}.cpp", text.replace("@", line * (lines - others)), lines > 60
    yield "src/base/m.hpp", "#define M(a) \\\n" + "  int a; \\\n" * 60 + "\n", True
    for text in NO_FUNCTIONS:
        yield "tests/unit/n.cpp", text.replace("@", "  int a;\n" * 70), False
    yield "tests/unit/c.c", "int f(void) {\n" + "  g();\n" * 60 + "}\n", True
    # A function with an exception (see self_test in check-sources), one that no longer needs it, and none.
    for lines, refused in ((60, False), (58, True), (0, True)):
        text = "void f() {\n" + "  g();\n" * lines + "}\n"
        yield "src/base/long.cpp", text if lines else "int a;\n", refused
    yield "tests/golden/a/a.json", "{" + " " * 200 + "}\n" * 500, False
    for text, refused in WORDS:
        yield "src/base/w.hpp", f"// {text}\n", refused
        yield "docs/w.md", text.replace("\n//", "\n") + "\n", refused
        yield "scripts/w", "#!/bin/sh\n# " + text.replace("//", "#") + "\n", refused
    yield "src/base/w.hpp", 'int crew; const char* s = "a crew";\n', False
    yield "docs/w.md", "    crew = 1\n", False
