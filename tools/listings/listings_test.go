package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	home      = "https://code.example.com/team/restarts"
	changelog = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n### Added\n\n" +
		"- More ([flags](docs/flags.md#more), [security](SECURITY.md), [elsewhere](https://example.com/x.md)).\n\n## [1.2.2]\n\n- Less.\n"
)

var platforms = []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64"}

// repository returns the directory of a repository with a chart and a changelog.
func repository(t *testing.T, chartSays string) string {
	t.Helper()
	top := t.TempDir()
	for name, content := range map[string]string{chart: chartSays, "CHANGELOG.md": changelog} {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// packed returns a directory with the archives that the release makes, of this test's own program. Each has an end of its
// own, so that no two archives have the same checksum.
func packed(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	out := filepath.Join(directory, "dist")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"run", "../archive", "-version", "1.2.3", "-out", out, "-with", "../../kubectl-restarts/kubectl_complete-restarts", "-with", "../../LICENSE"}
	for _, platform := range platforms {
		path := filepath.Join(directory, platform)
		if err := os.WriteFile(path, append(slices.Clip(content), platform...), 0o755); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, platform+"="+path)
	}
	if output, err := exec.CommandContext(t.Context(), "go", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return out
}

// listed writes the listings of these platforms, and returns them by their names.
func listed(t *testing.T, out string, platforms ...string) map[string]string {
	t.Helper()
	top := repository(t, "name: x\nhome: "+home+"\n")
	if err := run(io.Discard, top, append([]string{"-version", "1.2.3", "-out", out}, platforms...)); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range []string{"restarts.yaml", "kubectl-restarts.rb", "CHANGES.md"} {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	return files
}

// download returns the URL and the checksum of the archive of a platform.
func download(t *testing.T, out, platform string) (url, sum string) {
	t.Helper()
	name := "kubectl-restarts_1.2.3_" + strings.Replace(platform, "-", "_", 1) + ".tar.gz"
	if strings.HasPrefix(platform, "windows-") {
		name = strings.Replace(name, ".tar.gz", ".zip", 1)
	}
	content, err := os.ReadFile(filepath.Join(out, name))
	if err != nil {
		t.Fatal(err)
	}
	return home + "/releases/download/v1.2.3/" + name, fmt.Sprintf("%x", sha256.Sum256(content))
}

// What krew's own check wants of a manifest, and what we want.
func TestTheManifestIsOneThatKrewTakes(t *testing.T) {
	out := packed(t)
	content := listed(t, out, platforms...)["restarts.yaml"]
	var m manifest
	if err := yaml.UnmarshalStrict([]byte(content), &m); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "restarts" || m.Spec.Version != "v1.2.3" || m.Spec.Homepage != home {
		t.Errorf("the manifest is %+v", m)
	}
	if short := m.Spec.ShortDescription; short == "" || len(short) > 50 || strings.HasSuffix(short, ".") || m.Spec.Description == "" {
		t.Errorf("%q has %d characters; %q", short, len(short), m.Spec.Description)
	}
	if len(m.Spec.Platforms) != len(platforms) {
		t.Fatalf("it has %d platforms", len(m.Spec.Platforms))
	}
	for i, p := range m.Spec.Platforms {
		platform := platforms[i]
		labels := p.Selector.MatchLabels
		if labels.OS+"-"+labels.Arch != platform {
			t.Errorf("%s has the selector %+v", platform, labels)
		}
		if url, sum := download(t, out, platform); p.URI != url || p.SHA256 != sum {
			t.Errorf("%s is at %s with %s, not %s with %s", platform, p.URI, p.SHA256, url, sum)
		}
		bin, files := "kubectl-restarts", "kubectl-restarts kubectl_complete-restarts LICENSE"
		if labels.OS == "windows" {
			bin, files = "kubectl-restarts.exe", "kubectl-restarts.exe LICENSE"
		}
		var from []string
		for _, f := range p.Files {
			from = append(from, f.From)
			if f.To != "." {
				t.Errorf("%s puts %s into %q", platform, f.From, f.To)
			}
		}
		if p.Bin != bin || strings.Join(from, " ") != files {
			t.Errorf("%s has the program %s in %q", platform, p.Bin, from)
		}
	}
}

func TestTheFormulaIsOneThatHomebrewTakes(t *testing.T) {
	out := packed(t)
	got := listed(t, out, platforms...)["kubectl-restarts.rb"]
	want := "class KubectlRestarts < Formula\n  desc \"" + summary + "\"\n  homepage \"" + home + "\"\n  version \"1.2.3\"\n  license \"Apache-2.0\"\n"
	for _, system := range [][2]string{{"on_macos", "darwin"}, {"on_linux", "linux"}} {
		want += "\n  " + system[0] + " do\n"
		for i, architecture := range [][2]string{{"on_arm", "arm64"}, {"on_intel", "amd64"}} {
			if i > 0 {
				want += "\n"
			}
			url, sum := download(t, out, system[1]+"-"+architecture[1])
			want += "    " + architecture[0] + " do\n      url \"" + url + "\"\n      sha256 \"" + sum + "\"\n    end\n"
		}
		want += "  end\n"
	}
	want += "\n  def install\n    bin.install \"kubectl-restarts\", \"kubectl_complete-restarts\"\n  end\n\n" +
		"  test do\n    assert_match version.to_s, shell_output(\"#{bin}/kubectl-restarts --version\")\n  end\nend\n"
	if got != want {
		t.Errorf("the formula is\n%s\nwant\n%s", got, want)
	}
	if len(summary) > 80 || regexp.MustCompile(`^(An?|The) |[.]$|(?i)kubectl.restarts`).MatchString(summary) {
		t.Errorf("Homebrew does not want %q", summary)
	}
}

// Each block of the formula ends, whichever platforms there are.
func TestAFormulaHasOnlyThePlatformsThatThereAre(t *testing.T) {
	out := packed(t)
	for _, some := range [][]string{{"linux-amd64"}, {"darwin-arm64", "windows-amd64"}, {"linux-arm64", "darwin-amd64"}} {
		formula := listed(t, out, some...)["kubectl-restarts.rb"]
		begins := len(regexp.MustCompile(`(?m)^ *class | do$|^ *def `).FindAllString(formula, -1))
		if ends := len(regexp.MustCompile(`(?m)^ *end$`).FindAllString(formula, -1)); begins != ends {
			t.Errorf("%q: %d blocks begin and %d end: %s", some, begins, ends, formula)
		}
		for _, platform := range platforms {
			_, sum := download(t, out, platform)
			want := slices.Contains(some, platform) && platform != "windows-amd64"
			if strings.Contains(formula, sum) != want {
				t.Errorf("%q: that %s is in it should be %t: %s", some, platform, want, formula)
			}
		}
	}
}

func TestTheChangesAreThoseOfTheVersion(t *testing.T) {
	got := listed(t, packed(t), "linux-amd64")["CHANGES.md"]
	want := "### Added\n\n- More ([flags](" + home + "/blob/v1.2.3/docs/flags.md#more), [security](" + home + "/blob/v1.2.3/SECURITY.md), [elsewhere](https://example.com/x.md)).\n"
	if got != want {
		t.Errorf("the changes are\n%s\nwant\n%s", got, want)
	}
}

// What this repository says must do, too: its chart names a URL and the license.
func TestTheChartOfThisRepositorySaysWhatIsNeeded(t *testing.T) {
	top := filepath.Join("..", "..")
	if _, err := homeOf(top); err != nil {
		t.Error(err)
	}
	content, err := os.ReadFile(filepath.Join(top, chart))
	if err != nil || !strings.Contains(string(content), "artifacthub.io/license: "+license+"\n") {
		t.Errorf("the license of the chart is not %s, %v", license, err)
	}
}

func TestWhatIsWrongIsExplained(t *testing.T) {
	out := packed(t)
	if err := os.WriteFile(filepath.Join(out, "kubectl-restarts_1.2.3_plan9_amd64.tar.gz"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	archived, err := os.ReadFile(filepath.Join(out, "kubectl-restarts_1.2.3_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "kubectl-restarts_1.2.3_windows_arm64.zip"), archived[:100], 0o644); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "tar", "-czf", filepath.Join(out, "kubectl-restarts_1.2.3_linux_arm.tar.gz"), "main.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	right := "home: " + home + "\n"
	for want, wrong := range map[string]struct{ chart, arguments string }{
		"give -version":                         {right, "linux-amd64"},
		"and the platforms":                     {right, "-version 1.2.3"},
		"not defined":                           {right, "-versions 1.2.3"},
		"not of the form OS-ARCH":               {right, "-version 1.2.3 linux"},
		"no such file":                          {right, "-version 1.2.3 linux-riscv64"},
		"linux_arm.tar.gz: no program kubectl-": {right, "-version 1.2.3 linux-arm"},
		"plan9_amd64.tar.gz: ":                  {right, "-version 1.2.3 plan9-amd64"},
		"windows_arm64.zip: ":                   {right, "-version 1.2.3 windows-arm64"},
		"no archive is for a system":            {right, "-version 1.2.3 windows-amd64"},
		`home "" is no URL`:                     {"name: x\n", "-version 1.2.3 linux-amd64"},
		`home "http://x.example.com/y" is no`:   {"home: http://x.example.com/y\n", "-version 1.2.3 linux-amd64"},
		`\"#{x}" is no URL`:                     {`home: https://x.example.com/y"#{x}` + "\n", "-version 1.2.3 linux-amd64"},
		chart + ": ":                            {"home: [", "-version 1.2.3 linux-amd64"},
	} {
		err := run(io.Discard, repository(t, wrong.chart), append([]string{"-out", out}, strings.Fields(wrong.arguments)...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", wrong.arguments, err, want)
		}
	}
	top := repository(t, right)
	if err := os.WriteFile(filepath.Join(top, "CHANGELOG.md"), []byte("## [1.2.2]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(io.Discard, top, []string{"-out", out, "-version", "1.2.3", "linux-amd64"}); err == nil || !strings.Contains(err.Error(), "CHANGELOG.md has no section [1.2.3]") {
		t.Errorf("a version without changes: %v", err)
	}
}
