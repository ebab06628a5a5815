package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

const (
	plugin  = "restarts" // as in kubectl restarts
	program = "kubectl-" + plugin
	chart   = "charts/kubernetes-deployment-restart-controller/Chart.yaml"
	license = "Apache-2.0"

	// Both lists of plugins show about 50 characters, without an article and a full stop.
	summary     = "Foresee, explain and hold restarts of workloads"
	description = `Shows what an edit of a ConfigMap or Secret would restart, why a workload restarted or
did not, and what waits. It also holds and releases restarts. It is for clusters with the
controller kubernetes-deployment-restart-controller, and acts with your own permissions.
`
	caveats = `kubectl completes the arguments if kubectl_complete-restarts, which is installed beside
the plugin, is on the PATH. It is not available on Windows.
`
)

type release struct {
	version  string
	home     string // the URL of the repository
	archives []archive
}

// What can be in a URL that is written into other languages without quoting.
var plainURL = regexp.MustCompile(`^https://[A-Za-z0-9.-]+(?::\d+)?(?:/[A-Za-z0-9._~-]+)+/?$`)

// homeOf returns the URL of the repository, without a slash at its end.
func homeOf(top string) (string, error) {
	content, err := os.ReadFile(filepath.Join(top, chart))
	if err != nil {
		return "", err
	}
	var says struct{ Home string }
	if err := yaml.Unmarshal(content, &says); err != nil {
		return "", fmt.Errorf("%s: %w", chart, err)
	}
	if !plainURL.MatchString(says.Home) {
		return "", fmt.Errorf("%s: home %q is no URL of a repository", chart, says.Home)
	}
	return strings.TrimSuffix(says.Home, "/"), nil
}

// url returns where an archive can be downloaded.
func (r *release) url(a *archive) string {
	return fmt.Sprintf("%s/releases/download/v%s/%s", r.home, r.version, a.name)
}

// manifest is what krew reads: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Caveats          string     `json:"caveats"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector struct {
		MatchLabels struct {
			OS   string `json:"os"`
			Arch string `json:"arch"`
		} `json:"matchLabels"`
	} `json:"selector"`
	URI    string   `json:"uri"`
	SHA256 string   `json:"sha256"`
	Files  []moving `json:"files"`
	Bin    string   `json:"bin"`
}

// moving is where krew puts a file of the archive.
type moving struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (r *release) krew() ([]byte, error) {
	m := manifest{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin"}
	m.Metadata.Name = plugin
	m.Spec.Version, m.Spec.Homepage = "v"+r.version, r.home
	m.Spec.ShortDescription, m.Spec.Description, m.Spec.Caveats = summary, description, caveats
	for i := range r.archives {
		a := &r.archives[i]
		p := platform{URI: r.url(a), SHA256: a.sum, Bin: a.binary()}
		p.Selector.MatchLabels.OS, p.Selector.MatchLabels.Arch = a.system, a.architecture
		for _, name := range a.files {
			p.Files = append(p.Files, moving{From: name, To: "."})
		}
		m.Spec.Platforms = append(m.Spec.Platforms, p)
	}
	return yaml.Marshal(m)
}

// The parts are in the order that Homebrew's own check of the style wants.
var formula = template.Must(template.New("formula").Parse(`class KubectlRestarts < Formula
  desc "{{.Summary}}"
  homepage "{{.Home}}"
  version "{{.Version}}"
  license "{{.License}}"
{{range .Systems}}
  {{.Block}} do
{{- range $i, $a := .Archives}}{{if $i}}
{{end}}
    {{$a.Block}} do
      url "{{$a.URL}}"
      sha256 "{{$a.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install {{.Programs}}
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/{{.Program}} --version")
  end
end
`))

// What Homebrew calls the systems and architectures that it knows, in the order of its style.
var (
	systems       = [][2]string{{"darwin", "on_macos"}, {"linux", "on_linux"}}
	architectures = [][2]string{{"arm64", "on_arm"}, {"amd64", "on_intel"}}
)

func (r *release) formula() ([]byte, error) {
	type download struct{ Block, URL, Sum string }
	type system struct {
		Block    string
		Archives []download
	}
	var all []system
	var programs string
	for _, s := range systems {
		one := system{Block: s[1]}
		for _, architecture := range architectures {
			for i := range r.archives {
				if a := &r.archives[i]; a.system == s[0] && a.architecture == architecture[0] {
					one.Archives = append(one.Archives, download{architecture[1], r.url(a), a.sum})
					programs = `"` + strings.Join(a.programs, `", "`) + `"`
				}
			}
		}
		if len(one.Archives) > 0 {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no archive is for a system that Homebrew knows")
	}
	var written bytes.Buffer
	err := formula.Execute(&written, map[string]any{
		"Summary": summary, "Home": r.home, "Version": r.version, "License": license,
		"Systems": all, "Programs": programs, "Program": program,
	})
	return written.Bytes(), err
}

// A link to a file of the repository, such as ](docs/flags.md).
var toFile = regexp.MustCompile(`\]\(([A-Za-z0-9_.-]+(?:[/#][^):]*)?)\)`)

// changes returns the section of the changelog, whose links lead into the repository from elsewhere, too.
func (r *release) changes(top string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(top, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	for _, section := range strings.Split("\n"+string(content), "\n## [")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		if strings.HasPrefix(heading, r.version+"]") {
			linked := toFile.ReplaceAllString(strings.TrimSpace(text), fmt.Sprintf("](%s/blob/v%s/$1)", r.home, r.version))
			return []byte(linked + "\n"), nil
		}
	}
	return nil, fmt.Errorf("CHANGELOG.md has no section [%s]", r.version)
}
