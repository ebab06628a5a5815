package test

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// config names a ConfigMap or Secret in a scene's namespace.
type config struct{ kind, name string }

func configMap(name string) config { return config{"configmap", name} }
func secret(name string) config    { return config{"secret", name} }

// key is the name of the config in the checksums annotation.
func (c config) key(namespace string) string { return c.kind + "/" + namespace + "/" + c.name }

// content is what a config holds, in a form that both kinds share.
type content struct {
	labels map[string]string
	data   map[string]string
	binary map[string][]byte // of a ConfigMap
}

// change is a part of an edit.
type change func(*content)

func set(key, value string) change {
	return func(c *content) { c.data[key] = value }
}

func setBinary(key, value string) change {
	return func(c *content) { c.binary[key] = []byte(value) }
}

func remove(key string) change {
	return func(c *content) {
		delete(c.data, key)
		delete(c.binary, key)
	}
}

func label(key, value string) change {
	return func(c *content) { c.labels[key] = value }
}

func (c *content) apply(changes []change) {
	for _, change := range changes {
		change(c)
	}
}

func (c *content) readConfigMap(object *corev1.ConfigMap) {
	c.labels, c.data, c.binary = notNil(object.Labels), notNil(object.Data), notNil(object.BinaryData)
}

func (c *content) writeConfigMap(object *corev1.ConfigMap) {
	object.Labels, object.Data, object.BinaryData = c.labels, c.data, c.binary
}

func (c *content) readSecret(object *corev1.Secret) {
	c.labels, c.data = notNil(object.Labels), map[string]string{}
	for key, value := range object.Data {
		c.data[key] = string(value)
	}
}

func (c *content) writeSecret(object *corev1.Secret) {
	object.Labels, object.Data = c.labels, map[string][]byte{}
	for key, value := range c.data {
		object.Data[key] = []byte(value)
	}
}

func notNil[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// make creates a config that begins empty.
func (s *scene) make(c config, changes ...change) { s.Helper(); s.makeConfig(c, false, changes) }

// makeImmutable creates a config that can only be deleted and made again.
func (s *scene) makeImmutable(c config, changes ...change) {
	s.Helper()
	s.makeConfig(c, true, changes)
}

func (s *scene) makeConfig(c config, immutable bool, changes []change) {
	s.Helper()
	var err error
	made := content{labels: map[string]string{}, data: map[string]string{}, binary: map[string][]byte{}}
	made.apply(changes)
	meta := metav1.ObjectMeta{Name: c.name}
	if c.kind == "secret" {
		object := &corev1.Secret{ObjectMeta: meta, Immutable: &immutable}
		made.writeSecret(object)
		_, err = s.client.CoreV1().Secrets(s.namespace).Create(s.Context(), object, metav1.CreateOptions{})
	} else {
		object := &corev1.ConfigMap{ObjectMeta: meta, Immutable: &immutable}
		made.writeConfigMap(object)
		_, err = s.client.CoreV1().ConfigMaps(s.namespace).Create(s.Context(), object, metav1.CreateOptions{})
	}
	s.must(err)
}

// edit changes a config with one write.
func (s *scene) edit(c config, changes ...change) {
	s.Helper()
	var edited content
	if c.kind == "secret" {
		secrets := s.client.CoreV1().Secrets(s.namespace)
		object, err := secrets.Get(s.Context(), c.name, metav1.GetOptions{})
		s.must(err)
		edited.readSecret(object)
		edited.apply(changes)
		edited.writeSecret(object)
		_, err = secrets.Update(s.Context(), object, metav1.UpdateOptions{})
		s.must(err)
		return
	}
	configMaps := s.client.CoreV1().ConfigMaps(s.namespace)
	object, err := configMaps.Get(s.Context(), c.name, metav1.GetOptions{})
	s.must(err)
	edited.readConfigMap(object)
	edited.apply(changes)
	edited.writeConfigMap(object)
	_, err = configMaps.Update(s.Context(), object, metav1.UpdateOptions{})
	s.must(err)
}

// relabel sets a label of a config as somebody other than the one who edits its
// content: the API keeps a time for each of them.
func (s *scene) relabel(c config, key, value string) {
	s.Helper()
	var err error
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	options := metav1.PatchOptions{FieldManager: "labeler"}
	if c.kind == "secret" {
		_, err = s.client.CoreV1().Secrets(s.namespace).Patch(s.Context(), c.name, types.MergePatchType, patch, options)
	} else {
		_, err = s.client.CoreV1().ConfigMaps(s.namespace).Patch(s.Context(), c.name, types.MergePatchType, patch, options)
	}
	s.must(err)
}

// delete removes a config.
func (s *scene) delete(c config) {
	s.Helper()
	if c.kind == "secret" {
		s.must(s.client.CoreV1().Secrets(s.namespace).Delete(s.Context(), c.name, metav1.DeleteOptions{}))
		return
	}
	s.must(s.client.CoreV1().ConfigMaps(s.namespace).Delete(s.Context(), c.name, metav1.DeleteOptions{}))
}
