package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"kubernetes-deployment-restart-controller/test/harness"
)

// node is a part of a JSON schema.
type node struct {
	Type                 any
	Properties           map[string]*node
	Items                *node
	Required             []string
	AdditionalProperties any
	Description          string
}

// chartFile reads a file of the chart.
func chartFile(t *testing.T, name string) []byte {
	t.Helper()
	chart, err := harness.Chart()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(chart, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func schemaOfValues(t *testing.T) *node {
	t.Helper()
	var schema node
	if err := json.Unmarshal(chartFile(t, "values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	return &schema
}

func TestEachValueHasADefaultAndASchema(t *testing.T) {
	t.Parallel()
	var defaults map[string]any
	if err := sigsyaml.UnmarshalStrict(chartFile(t, "values.yaml"), &defaults); err != nil {
		t.Fatal(err)
	}
	requireSameKeys(t, "", schemaOfValues(t), defaults)
}

// requireSameKeys requires that the schema knows the keys of the chart, and no others.
func requireSameKeys(t *testing.T, path string, schema *node, defaults map[string]any) {
	t.Helper()
	for key, value := range defaults {
		below, isKnown := schema.Properties[key]
		if !isKnown {
			t.Errorf("the schema does not know %s/%s", path, key)
			continue
		}
		// null in a values file removes the default.
		if needsDefault(value, below) != slices.Contains(schema.Required, key) {
			t.Errorf("null for %s/%s is rejected: %t", path, key, slices.Contains(schema.Required, key))
		}
		if member, isMap := value.(map[string]any); isMap && len(below.Properties) > 0 && !isOfTheAPI(key) {
			requireSameKeys(t, path+"/"+key, below, member)
		}
	}
	for key := range schema.Properties {
		if _, isThere := defaults[key]; !isThere && key != "global" {
			t.Errorf("values.yaml does not have %s/%s", path, key)
		}
	}
}

// isOfTheAPI reports whether a value is an object as in a pod, so that its keys need neither defaults nor comments.
func isOfTheAPI(key string) bool { return key == "resources" || key == "affinity" }

// needsDefault reports whether the templates need a value, because empty is not the default.
func needsDefault(value any, schema *node) bool {
	switch value := value.(type) {
	case nil:
		return false
	case string:
		return value != ""
	case []any:
		return false
	case map[string]any:
		return len(schema.Properties) > 0 && len(schema.Required) > 0
	}
	return true
}

// A typo anywhere in the values is found, in the items of a list, too, unless the schema says who checks them.
func TestTheSchemaAllowsNoKeysThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	requireClosed(t, "", schemaOfValues(t))
}

func requireClosed(t *testing.T, path string, schema *node) {
	t.Helper()
	switch {
	case len(schema.Properties) > 0 && schema.AdditionalProperties != false:
		t.Errorf("the schema allows keys below %s/ that it does not know", path)
	case schema.Type == "object" && len(schema.Properties) == 0 && schema.AdditionalProperties == nil && schema.Description == "":
		t.Errorf("the schema allows any keys below %s/, and does not say who checks them", path)
	case schema.Type == "array" && schema.Items == nil:
		t.Errorf("the schema does not say what the items of %s are", path)
	}
	if schema.Items != nil {
		requireClosed(t, path+"/[]", schema.Items)
	}
	for key, below := range schema.Properties {
		requireClosed(t, path+"/"+key, below)
	}
}

// Values without a comment of their own, because that of the one before is about them, too.
var shareComment = []string{"fullnameOverride", "monitors/podMonitor", "tolerations", "affinity", "annotations", "podLabels", "podAnnotations"}

func TestEachValueHasAComment(t *testing.T) {
	t.Parallel()
	requireComments(t, "", schemaOfValues(t), keysWithComment(string(chartFile(t, "values.yaml"))))
}

// requireComments requires a comment above each value, or above its only key, which is "enabled".
func requireComments(t *testing.T, path string, schema *node, found map[string]bool) {
	t.Helper()
	for key, below := range schema.Properties {
		at := strings.TrimPrefix(path+"/"+key, "/")
		if len(below.Properties) > 1 && !isOfTheAPI(key) {
			requireComments(t, at, below, found)
		} else if !found[at] && !found[at+"/enabled"] && !slices.Contains(shareComment, at) && key != "global" {
			t.Errorf("%s has no comment", at)
		}
	}
}

var keyOfYAML = regexp.MustCompile(`^( *)([A-Za-z]+):`)

// keysWithComment returns the paths of the keys of a YAML file that have a comment in the line above.
func keysWithComment(text string) map[string]bool {
	found := map[string]bool{}
	var path []string
	isComment := false
	for line := range strings.Lines(text) {
		if key := keyOfYAML.FindStringSubmatch(line); key != nil {
			path = append(path[:min(len(path), len(key[1])/2)], key[2])
			found[strings.Join(path, "/")] = isComment
		}
		isComment = strings.HasPrefix(strings.TrimSpace(line), "#")
	}
	return found
}
