package documents

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type workflow struct {
	On          struct{ Push struct{ Tags []string } } `json:"true"` // so YAML reads the word
	Permissions map[string]string
	Jobs        map[string]job
}

type job struct {
	Needs       string
	Environment string
	Timeout     int `json:"timeout-minutes"`
	Permissions map[string]string
	Steps       []struct {
		Uses, Run string
		With, Env map[string]any
	}
}

const releaseWorkflow = ".github/workflows/release.yaml"

// furtherPermissions are those of jobs that do not only read.
var furtherPermissions = map[string]map[string]string{
	releaseWorkflow + " push":    {"contents": "read", "packages": "write", "id-token": "write"},
	releaseWorkflow + " release": {"contents": "write"},
}

// What a workflow does, a maintainer can do as well: its steps call the project's own commands, and targets that exist.
func TestWorkflowsCallOnlyTheCommandsOfTheProject(t *testing.T) {
	ours := regexp.MustCompile(`^(?:\.ci/run|make ([a-z0-9-]+)(?: [A-Z]+=\S+)*)$`)
	for path, w := range workflows(t) {
		if !maps.Equal(w.Permissions, map[string]string{"contents": "read"}) {
			t.Errorf("%s has the permissions %v", path, w.Permissions)
		}
		for name, job := range w.Jobs {
			if job.Timeout == 0 {
				t.Errorf("%s: job %s has no timeout", path, name)
			}
			if !maps.Equal(job.Permissions, furtherPermissions[path+" "+name]) {
				t.Errorf("%s: job %s has the permissions %v", path, name, job.Permissions)
			}
			for _, step := range job.Steps {
				if step.Uses != "" && strings.HasPrefix(step.Uses, "actions/") {
					continue
				}
				match := ours.FindStringSubmatch(step.Run)
				if match == nil {
					t.Errorf("%s: job %s calls %q", path, name, step.Uses+step.Run)
				} else if match[1] != "" && exec.CommandContext(t.Context(), "make", "-n", match[1], "VERSION=0.0.0").Run() != nil {
					t.Errorf("%s: job %s makes %s, which is no target", path, name, match[1])
				}
			}
		}
	}
}

// A job that may write and runs for every commit, or that is handed more secrets than it needs, would be a way in.
func TestOnlyTheReleaseIsTrusted(t *testing.T) {
	for path, w := range workflows(t) {
		content := readDocument(t, path)
		if path != releaseWorkflow {
			if strings.Contains(content, "secrets.") || strings.Contains(content, "github.token") || strings.Contains(content, "pull_request_target") {
				t.Errorf("%s has secrets", path)
			}
			continue
		}
		var triggers struct {
			True map[string]any `json:"true"`
		}
		if err := yaml.Unmarshal([]byte(content), &triggers); err != nil || len(triggers.True) != 1 || !slices.Equal(w.On.Push.Tags, []string{"v[0-9]+.[0-9]+.[0-9]+"}) {
			t.Errorf("%s runs on %v, %v", path, triggers.True, err)
		}
		for name, job := range w.Jobs {
			for _, step := range job.Steps {
				mayHave := ""
				switch step.Run {
				case "make login":
					mayHave = "REGISTRY_PASSWORD"
				case `make github-release VERSION="${GITHUB_REF_NAME#v}"`:
					mayHave = "GH_TOKEN"
				}
				for variable, value := range step.Env {
					if text := fmt.Sprint(value); variable != mayHave && (strings.Contains(text, "secrets.") || strings.Contains(text, "github.token")) {
						t.Errorf("job %s: %s%s is handed %s", name, step.Uses, step.Run, variable)
					}
				}
			}
		}
		// The token of the job itself: no more than the two steps above.
		if n := strings.Count(content, "secrets.") + strings.Count(content, "github.token"); n != 3 {
			t.Errorf("%s names secrets %d times", path, n)
		}
	}
}

// The release of GitHub comes last: it names the image and the chart, and has the signature of the checksums.
func TestTheReleasePublishesWhatItHasBuiltAndSigned(t *testing.T) {
	jobs := workflows(t)[releaseWorkflow].Jobs
	for name, want := range map[string]struct {
		needs, environment string
		steps              []string
	}{
		"build":   {"", "", []string{"make release", "up dist from dist"}},
		"push":    {"build", "release", []string{"down dist to dist", "make login", "make push", "make sign", "up signature from dist/SHA256SUMS.sigstore.json"}},
		"release": {"push", "", []string{"down dist to dist", "down signature to dist", "make github-release"}},
	} {
		job := jobs[name]
		var steps []string
		for _, step := range job.Steps {
			switch action, _, _ := strings.Cut(step.Uses, "@"); action {
			case "actions/upload-artifact":
				steps = append(steps, fmt.Sprintf("up %v from %v", step.With["name"], step.With["path"]))
			case "actions/download-artifact":
				steps = append(steps, fmt.Sprintf("down %v to %v", step.With["name"], step.With["path"]))
			case "":
				target, version, hasVersion := strings.Cut(step.Run, " VERSION=")
				steps = append(steps, target)
				if hasVersion && version != `"${GITHUB_REF_NAME#v}"` {
					t.Errorf("%s is of the version %s", target, version)
				}
			}
		}
		if job.Needs != want.needs || job.Environment != want.environment || !slices.Equal(steps, want.steps) {
			t.Errorf("job %s needs %q, has the environment %q and does %q", name, job.Needs, job.Environment, steps)
		}
	}
	if len(jobs) != 3 {
		t.Errorf("there are %d jobs", len(jobs))
	}
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	paths, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d workflows, %v", len(paths), err)
	}
	all := map[string]workflow{}
	for _, path := range paths {
		encoded, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(encoded, &w); err != nil || len(w.Jobs) == 0 {
			t.Fatalf("%s: %v, %d jobs", path, err, len(w.Jobs))
		}
		all[path] = w
	}
	return all
}

// An issue form, as GitHub reads it: https://docs.github.com/communities/using-templates-to-encourage-useful-issues-and-pull-requests
type issueForm struct {
	Name, Description, Title string
	Labels                   []string
	Body                     []struct {
		Type, ID    string
		Attributes  struct{ Label, Description, Placeholder, Value, Render string }
		Validations struct{ Required bool }
	}
}

// GitHub does not offer a form that it cannot read, and says so only to those who look at the file.
func TestIssueFormsAreThoseThatGitHubUnderstands(t *testing.T) {
	names := map[string]bool{}
	for path, encoded := range issueTemplates(t) {
		if filepath.Base(path) == "config.yml" {
			continue
		}
		var form issueForm
		if err := yaml.UnmarshalStrict(encoded, &form); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if form.Name == "" || form.Description == "" || names[form.Name] {
			t.Errorf("%s needs a name of its own and a description: %+v", path, form)
		}
		names[form.Name] = true
		ids, asks := map[string]bool{}, false
		for _, part := range form.Body {
			switch isText := part.Type == "textarea" || part.Type == "input"; {
			case part.Type == "markdown" && part.Attributes.Value != "" && part.ID == "":
			case isText && part.Attributes.Label != "" && part.ID != "" && !ids[part.ID] && (part.Type == "textarea" || part.Attributes.Render == ""):
				asks = true
			default:
				t.Errorf("%s has a part that GitHub does not take: %+v", path, part)
			}
			ids[part.ID] = true
		}
		if !asks {
			t.Errorf("%s asks for nothing", path)
		}
	}
	if len(names) == 0 {
		t.Error("there is no form")
	}
}

func TestTheConfigurationOfIssuesIsThatWhichGitHubUnderstands(t *testing.T) {
	var config struct {
		BlankIssues  *bool                               `json:"blank_issues_enabled"`
		ContactLinks []struct{ Name, URL, About string } `json:"contact_links"`
	}
	if err := yaml.UnmarshalStrict(issueTemplates(t)[".github/ISSUE_TEMPLATE/config.yml"], &config); err != nil || config.BlankIssues == nil {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestIssueTemplatesNameDocumentsThatExist(t *testing.T) {
	for path, encoded := range issueTemplates(t) {
		for _, document := range regexp.MustCompile(`[A-Za-z0-9/_-]+\.md`).FindAllString(string(encoded), -1) {
			if _, err := os.Stat(document); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// issueTemplates returns what is in the directory of issue templates, by path.
func issueTemplates(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(".github/ISSUE_TEMPLATE/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d templates, %v", len(paths), err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		encoded, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(path)] = encoded
	}
	return all
}
