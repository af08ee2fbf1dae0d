#!/usr/bin/env python3
"""Extracts the c and cpp blocks of a Markdown file as programs.

  extract.py FILE.md FOLDER    writes FOLDER/FILE_NN_SECTION.c or .cpp, prints the file names

A block with a main is a program. Any other block is the body of a function that two threads run at once,
with `team` (a tagged team of two) and `member` (this thread's). Its return value, 0 at the end of the block,
is the program's exit status.
"""
import pathlib
import re
import sys

C_FRAME = """#define _POSIX_C_SOURCE 200809L
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int block(fermata_team* team, fermata_member* member) {
  (void)team;
  (void)member;
#line %(line)d "%(file)s"
%(body)s
  return 0;
}

struct part {
  fermata_team* team;
  int rank, status;
};

static void* run(void* argument) {
  struct part* part = argument;
  fermata_member* member = NULL;
  part->status = fermata_team_join(part->team, part->rank, &member);
  if (part->status == 0) part->status = block(part->team, member);
  if (part->status != 0)
    fprintf(stderr, "rank %%d: %%d: %%s\\n", part->rank, part->status, fermata_error_detail());
  fermata_member_leave(member);
  return NULL;
}

int main(void) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  struct part parts[2];
  pthread_t threads[2];
  fermata_team* team = NULL;
  config.members = 2;
  config.tagged = 1;
  if (fermata_team_create(&config, &team) != 0) return 1;
  for (int i = 0; i < 2; ++i) {
    parts[i].team = team;
    parts[i].rank = i;
    if (pthread_create(&threads[i], NULL, run, &parts[i]) != 0) return 1;
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  fermata_team_destroy(team);
  return parts[0].status != 0 || parts[1].status != 0;
}
"""

CXX_FRAME = """#include <fermata/fermata.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <thread>

static int block([[maybe_unused]] fermata::Team& team, [[maybe_unused]] fermata::Member& member) {
#line %(line)d "%(file)s"
%(body)s
  return 0;
}

int main() {
  fermata::TeamOptions options;
  options.tagged = true;
  fermata::Team team(2, options);
  std::atomic<int> wrong{0};
  const auto run = [&](int rank) {
    try {
      fermata::Member member = team.join(rank);
      if (block(team, member) != 0) wrong = 1;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rank %%d: %%s\\n", rank, e.what());
      wrong = 1;
      team.abort();
    }
  };
  { std::jthread first(run, 0), second(run, 1); }
  return wrong;
}
"""


def blocks(text):
    """(section, first line, language, code) of each c or cpp block."""
    section, language, code, first = "start", None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if language is None:
            if line.startswith("#"):
                section = re.sub(r"[^a-z0-9]+", "_", line.lower()).strip("_")
            elif match := re.fullmatch(r"```(c|cpp)", line):
                language, code, first = match.group(1), [], number + 1
        elif line == "```":
            yield section, first, language, "\n".join(code)
            language = None
        else:
            code.append(line)
    if language is not None:
        raise SystemExit("a block is not closed")


def main(source, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = pathlib.Path(source)
    for count, (section, line, language, code) in enumerate(blocks(path.read_text(encoding="utf-8")), 1):
        frame = C_FRAME if language == "c" else CXX_FRAME
        whole = re.search(r"^int main\(", code, re.M)
        parts = {"line": line, "file": path.name, "body": code}
        text = f'#line {line} "{path.name}"\n{code}\n' if whole else frame % parts
        target = folder / f"{path.stem}_{count:02}_{section[:24].strip('_')}.{language}"
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
        print(target.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
