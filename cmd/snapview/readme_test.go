package main

import (
	"bytes"
	"context"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snapview/snapview/internal/units"
)

const readmePath = "../../README.md"

// readmeBlock is a fenced block of one language.
func readmeBlock(language string) *regexp.Regexp {
	return regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$")
}

// reportSize is the size of a report, which changes with its design.
var reportSize = regexp.MustCompile(`(?m)^(report .*) \(([0-9.]+ [KM]iB)\)$`)

// TestReadmeCommands runs every "$ snapview …" of the README's console blocks
// on testdata and compares what it prints with what the README shows, but for
// the size of reports, which has to be near. With -update the README is rewritten.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	readmeFile, err := filepath.Abs(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	enterFolderWithTestdata(t)
	commands := 0
	fresh := readmeBlock("console").ReplaceAllStringFunc(string(readme), func(block string) string {
		var out strings.Builder
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ snapview ")
			if !ok {
				continue
			}
			commands++
			out.WriteString("$ snapview " + command + "\n" + runDocumented(t, command))
		}
		return "```console\n" + out.String() + "```"
	})
	if commands == 0 {
		t.Fatal("the README shows no command")
	}
	if *update {
		if err := os.WriteFile(readmeFile, []byte(fresh), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	checkReportSizes(t, string(readme), fresh)
	want := strings.Split(reportSize.ReplaceAllString(string(readme), "$1"), "\n")
	got := strings.Split(reportSize.ReplaceAllString(fresh, "$1"), "\n")
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("README.md line %d is not what the command prints; run go test ./cmd/snapview -update\nREADME: %q\nnow:    %q",
				i+1, at(want, i), at(got, i))
		}
	}
}

// TestReadmeFirstCommand runs what the README tells a newcomer to run, and
// checks that what it leaves in the repository is ignored by git.
func TestReadmeFirstCommand(t *testing.T) {
	readme, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile("../../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^go run ./cmd/snapview (.*)$`).FindSubmatch(readme)
	if command == nil {
		t.Fatal("the README runs nothing")
	}
	enterFolderWithTestdata(t)
	runDocumented(t, string(command[1]))
	pages, err := filepath.Glob("*.html")
	if err != nil || len(pages) != 1 {
		t.Fatalf("the first command wrote %q (%v), want one page", pages, err)
	}
	if !strings.Contains("\n"+string(ignored), "\n/*.html\n") {
		t.Errorf("git does not ignore %s", pages[0])
	}
}

// checkReportSizes checks that the sizes shown are off by a third at most.
func checkReportSizes(t *testing.T, readme, fresh string) {
	t.Helper()
	shown, now := reportSize.FindAllStringSubmatch(readme, -1), reportSize.FindAllStringSubmatch(fresh, -1)
	if len(shown) != len(now) || len(now) == 0 {
		t.Fatalf("the README shows %d reports, the commands print %d", len(shown), len(now))
	}
	for i := range now {
		a, errA := units.ParseBytes(shown[i][2])
		b, errB := units.ParseBytes(now[i][2])
		if errA != nil || errB != nil || 3*max(a, b) > 4*min(a, b) {
			t.Errorf("README.md: a report of %s is now %s; run go test ./cmd/snapview -update", shown[i][2], now[i][2])
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// enterFolderWithTestdata changes to an empty folder in which testdata and examples
// can be named as in the repository, so that reports do not land there.
func enterFolderWithTestdata(t *testing.T) {
	t.Helper()
	for _, name := range []string{"testdata", "examples"} {
		path, err := filepath.Abs(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.Symlink(path, name); err != nil {
				t.Fatal(err)
			}
		}()
	}
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "")
}

// runDocumented runs a command and returns both streams as a terminal shows
// them, paths and sizes as they are.
func runDocumented(t *testing.T, command string) string {
	t.Helper()
	var out bytes.Buffer
	code := run(context.Background(), strings.Fields(command), strings.NewReader(""), &out, &out)
	if code != exitOK && (code != exitGate || !strings.HasPrefix(command, "check ")) {
		t.Errorf("snapview %s: exit code %d\n%s", command, code, out.String())
	}
	return out.String()
}

// TestReadmeLibrary checks that the README's Go code is part of the example,
// which is compiled and tested.
func TestReadmeLibrary(t *testing.T) {
	readme, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/foldlines/main.go")
	if err != nil {
		t.Fatal(err)
	}
	block := readmeBlock("go").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README shows no Go code")
	}
	if _, err := format.Source(block[1]); err != nil {
		t.Errorf("the README's Go code is not complete: %v", err)
	}
	if !strings.Contains(string(example), string(block[1])) {
		t.Errorf("the README's Go code is not in examples/foldlines/main.go:\n%s", block[1])
	}
}

// TestReadmeLinks checks that what the README links to exists.
func TestReadmeLinks(t *testing.T) {
	readme, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join("../..", string(link[1]))); err != nil {
			t.Errorf("README.md links to %s: %v", link[1], err)
		}
	}
}
