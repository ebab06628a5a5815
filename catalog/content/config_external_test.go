package content_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

func TestASelectionSeesItsKeys(t *testing.T) {
	config := content.Config{Keys: names.NewKeys([]names.Key{{Name: "a"}, {Name: "b"}, {Name: "bin", Binary: true}, {Name: "c"}})}
	for name, test := range map[string]struct {
		selections []template.Selection
		want       string
	}{
		"none":                              {nil, ""},
		"all":                               {[]template.Selection{{}}, "a b bin c"},
		"environment":                       {[]template.Selection{{DataOnly: true}}, "a b c"},
		"one key":                           {[]template.Selection{{Names: []string{"b"}}}, "b"},
		"one key of a volume, binary":       {[]template.Selection{{Names: []string{"bin"}}}, "bin"},
		"one key of environment, binary":    {[]template.Selection{{Names: []string{"bin"}, DataOnly: true}}, ""},
		"a key that is not there":           {[]template.Selection{{Names: []string{"x"}}}, ""},
		"a volume of no keys":               {[]template.Selection{{Names: []string{}}}, ""},
		"several selections, each key once": {[]template.Selection{{Names: []string{"a", "b"}}, {Names: []string{"b", "bin"}}}, "a b bin"},
		"a key, then all of the data":       {[]template.Selection{{Names: []string{"bin"}}, {DataOnly: true}}, "a b bin c"},
		"a key, then everything":            {[]template.Selection{{Names: []string{"a"}}, {}}, "a b bin c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(config.Seen(test.selections).Names(), " "); got != test.want {
				t.Errorf("sees %q, want %q", got, test.want)
			}
			if got, want := config.Checksum(test.selections, catalogtest.TestKey), content.SetChecksum(config.Seen(test.selections)); got != want {
				t.Errorf("checksum %s, want %s", got, want)
			}
		})
	}
}

func TestAChecksumDependsOnTheSelectedKeysOnly(t *testing.T) {
	before := content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"a": "1", "b": "2"}))
	after := content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"a": "1", "b": "3", "c": "4"}))
	for name, test := range map[string]struct {
		selections []template.Selection
		differs    bool
	}{
		"unchanged key": {[]template.Selection{{Names: []string{"a"}, DataOnly: true}}, false},
		"changed key":   {[]template.Selection{{Names: []string{"b"}, DataOnly: true}}, true},
		"new key":       {[]template.Selection{{Names: []string{"c"}}}, true},
		"all":           {[]template.Selection{{DataOnly: true}}, true},
	} {
		if got := before.Checksum(test.selections, catalogtest.TestKey) != after.Checksum(test.selections, catalogtest.TestKey); got != test.differs {
			t.Errorf("%s: differs: %v, want %v", name, got, test.differs)
		}
	}
}

// The same bytes are the same file, whichever part of the ConfigMap holds them.
func TestAKeyMovedToBinaryDataKeepsItsChecksumInAVolume(t *testing.T) {
	text := content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"a": "1"}))
	binary := content.NewConfigMap(&corev1.ConfigMap{BinaryData: map[string][]byte{"a": []byte("1")}})
	if text.Checksum([]template.Selection{{}}, catalogtest.TestKey) != binary.Checksum([]template.Selection{{}}, catalogtest.TestKey) {
		t.Error("a volume sees another content")
	}
	if text.Checksum([]template.Selection{{DataOnly: true}}, catalogtest.TestKey) == binary.Checksum([]template.Selection{{DataOnly: true}}, catalogtest.TestKey) {
		t.Error("the environment, which cannot take it from binaryData, sees the same content")
	}
}
