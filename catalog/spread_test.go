package catalog

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

func TestAContentIDIsThatOfTheNamedKeys(t *testing.T) {
	c := New()
	web, tls := objecttest.ConfigMapRef("web"), objecttest.SecretRef("tls")
	id := func(ref names.ConfigRef, state objecttest.Data, keys ...string) string {
		if ref.Kind.IsSecret() {
			c.ObserveConfig(content.NewSecret(objecttest.Secret(ref.Name, state)), objecttest.Noon)
		} else {
			c.ObserveConfig(content.NewConfigMap(objecttest.ConfigMap(ref.Name, state)), objecttest.Noon)
		}
		return c.ContentID(ref, keys)
	}
	if got := c.ContentID(web, nil); got != "" {
		t.Errorf("of a config that does not exist: %q", got)
	}
	if got := id(tls, objecttest.Data{"a": "1"}); got != "" {
		t.Errorf("of a Secret without the key: %q", got)
	}
	c.SetKey(catalogtest.TestKey)
	for _, ref := range []names.ConfigRef{web, tls} {
		of := id(ref, objecttest.Data{"a": "1", "b": "1"}, "b", "a")
		if len(of) != 16 {
			t.Errorf("%s: %q is not 16 digits", ref, of)
		}
		for name, same := range map[string]string{
			"all keys":         id(ref, objecttest.Data{"a": "1", "b": "1"}),
			"in another order": id(ref, objecttest.Data{"a": "1", "b": "1"}, "a", "b", "a"),
			"other keys, too":  id(ref, objecttest.Data{"a": "1", "b": "1", "c": "1"}, "a", "b"),
			"missing keys":     id(ref, objecttest.Data{"a": "1", "b": "1"}, "a", "b", "c"),
		} {
			if same != of {
				t.Errorf("%s: %s: %q, want %q", ref, name, same, of)
			}
		}
		for name, other := range map[string]string{
			"another content": id(ref, objecttest.Data{"a": "1", "b": "2"}, "a", "b"),
			"a key is gone":   id(ref, objecttest.Data{"a": "1"}, "a", "b"),
			"all keys":        id(ref, objecttest.Data{"a": "1", "b": "1", "c": "1"}),
			"fewer keys":      id(ref, objecttest.Data{"a": "1", "b": "1"}, "a"),
		} {
			if other == of {
				t.Errorf("%s: %s: also %q", ref, name, other)
			}
		}
	}
	if id(objecttest.SecretRef("mine"), objecttest.Data{"a": "1"}) == id(tls, objecttest.Data{"a": "1"}) {
		t.Error("a Secret with a guess shows whether it is right")
	}
	if got, plain := id(tls, objecttest.Data{"a": "1"}), content.NewSecret(objecttest.Secret("tls", objecttest.Data{"a": "1"})); got == content.SetChecksum(plain.Keys).String() {
		t.Error("the id of a Secret's content is made without the key")
	}
	c.ObserveWorkload(catalogtest.MustWorkload(objecttest.Deployment(objecttest.ReadsAll("web", false))))
	c.ForgetConfig(web, objecttest.Noon)
	if got := c.ContentID(web, nil); got != "" {
		t.Errorf("of a config that is gone: %q", got)
	}
}
