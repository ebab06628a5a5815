package record_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// If one of these fails, the records on all workloads out there are about to
// become worthless: KeyedScheme needs another name, or the change another thought.
func TestChecksumsOfThisSchemeNeverChange(t *testing.T) {
	if record.KeyedScheme != "keyed-v2" {
		t.Errorf("the known answers belong to keyed-v2, not %s", record.KeyedScheme)
	}
	for name, test := range map[string]struct {
		config content.Config
		want   string
	}{
		"empty":               {content.NewConfigMap(objecttest.ConfigMap("c", nil)), "34c96acdcadb1bbb"},
		"one key":             {content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"a": "1"})), "239841a9781554b1"},
		"two keys":            {content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"a": "1", "b": "2"})), "e458ec7fac128ecb"},
		"one key like two":    {content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"a": "1;b=2"})), "6a829f45bba39609"},
		"empty value":         {content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"a": ""})), "3e83494ce4e4e298"},
		"binary data":         {content.NewConfigMap(&corev1.ConfigMap{BinaryData: map[string][]byte{"a": {0, 255}}}), "0cfeb067f79eeb25"},
		"secret like two":     {content.NewSecret(&corev1.Secret{Data: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}), "08c46de11df329f3"},
		"not of 7-bit ASCII":  {content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"ä": "ö"})), "410cd386afb3e38c"},
		"longer than a block": {content.NewConfigMap(objecttest.ConfigMap("c", map[string]string{"long": fmt.Sprintf("%0100d", 7)})), "b31c8cb174704d90"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.config.Checksum([]template.Selection{{}}, catalogtest.TestKey).String(); got != test.want {
				t.Errorf("checksum %s, want %s", got, test.want)
			}
		})
	}
}
