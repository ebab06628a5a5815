package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Timeout int `json:"timeout-minutes"`
		Steps   []struct{ Uses, Run string }
	}
}

// What a workflow does, a maintainer can do as well: its steps call the project's own commands, and targets that exist.
func TestWorkflowsCallOnlyTheCommandsOfTheProject(t *testing.T) {
	ours := regexp.MustCompile(`^(?:\.ci/run|make ([a-z0-9-]+)(?: [A-Z]+=\S+)*)$`)
	for path, w := range workflows(t) {
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s has the permissions %v", path, w.Permissions)
		}
		for name, job := range w.Jobs {
			if job.Timeout == 0 {
				t.Errorf("%s: job %s has no timeout", path, name)
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
