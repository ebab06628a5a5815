package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

// label edits what is not content.
func (d *driver) label(ctx context.Context, random *rand.Rand, c *config) error {
	if c.content == nil {
		return nil
	}
	field := []string{"labels", "annotations"}[random.IntN(2)]
	d.count("metadata of a config")
	return d.patchConfig(ctx, c, "labeller", map[string]any{"metadata": map[string]any{field: map[string]any{"noise": d.value()}}}, "", nil)
}

// editBlindly sets a key that no pod sees.
func (d *driver) editBlindly(ctx context.Context, random *rand.Rand, c *config) error {
	if c.content == nil || len(c.blind) == 0 {
		return d.label(ctx, random, c)
	}
	d.count("key that no container reads")
	return d.setKey(ctx, c, c.blind[random.IntN(len(c.blind))], d.value())
}

// edit sets, or removes, a key that some pod may see.
func (d *driver) edit(ctx context.Context, random *rand.Rand, c *config) error {
	if c.content == nil || !c.lively || c.bad || c.shared && random.IntN(8) > 0 {
		return d.label(ctx, random, c)
	}
	keys := []string{"data/a", "data/a", "data/b", "data/more"}
	if c.kind == "configmap" {
		keys = append(keys, "binary/blob")
	}
	key := keys[random.IntN(len(keys))]
	if _, present := c.content[key]; present && c.steady && key == "data/more" {
		d.count("key removed")
		return d.setKey(ctx, c, key, "")
	}
	d.count("key of a config")
	return d.setKey(ctx, c, key, d.value())
}

// setKey sets a key, or removes it if the value is empty.
func (d *driver) setKey(ctx context.Context, c *config, key, value string) error {
	field, name, _ := strings.Cut(key, "/")
	var written any
	what := "key " + key + " removed"
	edited := maps.Clone(c.content)
	delete(edited, key)
	if value != "" {
		edited[key], written, what = value, value, "key "+key+" set to "+value
		if c.kind == "secret" || field == "binary" {
			written = base64.StdEncoding.EncodeToString([]byte(value))
		}
	}
	if field == "binary" {
		field = "binaryData"
	}
	return d.patchConfig(ctx, c, "edit-"+name, map[string]any{field: map[string]any{name: written}}, what, edited)
}

// patchConfig patches a config; edited is its content then, nil if it stays.
func (d *driver) patchConfig(ctx context.Context, c *config, manager string, patch any, what string, edited map[string]string) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	begin := time.Now()
	err = until(ctx, nil, func(ctx context.Context) (err error) {
		if c.kind == "secret" {
			_, err = d.client.CoreV1().Secrets(c.namespace).Patch(ctx, c.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
		} else {
			_, err = d.client.CoreV1().ConfigMaps(c.namespace).Patch(ctx, c.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("edit %s: %w", c.name, err)
	}
	if edited != nil {
		c.content = edited
		d.notice(c, begin, what)
	}
	return nil
}

// notice reports the present content to the model.
func (d *driver) notice(c *config, begin time.Time, what string) {
	d.judge.configure(model.Edit{Begin: begin, End: time.Now(), Config: c.ref(), Content: maps.Clone(c.content), What: what})
}

func (d *driver) makeConfig(ctx context.Context, c *config, what string) error {
	data, binary := map[string]string{}, map[string][]byte{}
	secret := map[string][]byte{}
	for key, value := range c.content {
		field, name, _ := strings.Cut(key, "/")
		switch {
		case c.kind == "secret":
			secret[name] = []byte(value)
		case field == "binary":
			binary[name] = []byte(value)
		default:
			data[name] = value
		}
	}
	meta, options := metav1.ObjectMeta{Namespace: c.namespace, Name: c.name}, metav1.CreateOptions{FieldManager: maker}
	begin := time.Now()
	err := until(ctx, apierrors.IsAlreadyExists, func(ctx context.Context) (err error) {
		if c.kind == "secret" {
			_, err = d.client.CoreV1().Secrets(c.namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta, Data: secret}, options)
		} else {
			_, err = d.client.CoreV1().ConfigMaps(c.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: data, BinaryData: binary}, options)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", c.name, err)
	}
	d.notice(c, begin, what)
	return nil
}

// remake deletes a config or makes a deleted one again, with other content: an optional
// config that comes back as it was is no change (docs/design.md, Limits).
func (d *driver) remake(ctx context.Context, random *rand.Rand, c *config) error {
	if !c.steady || !c.lively || c.shared || c.flips > 0 {
		return d.label(ctx, random, c)
	}
	if c.content == nil {
		return d.restore(ctx, c)
	}
	d.count("config deleted")
	begin := time.Now()
	err := until(ctx, apierrors.IsNotFound, func(ctx context.Context) error {
		if c.kind == "secret" {
			return d.client.CoreV1().Secrets(c.namespace).Delete(ctx, c.name, metav1.DeleteOptions{})
		}
		return d.client.CoreV1().ConfigMaps(c.namespace).Delete(ctx, c.name, metav1.DeleteOptions{})
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", c.name, err)
	}
	c.content = nil
	d.notice(c, begin, "deleted")
	return nil
}

func (d *driver) restore(ctx context.Context, c *config) error {
	d.count("config recreated")
	c.content = map[string]string{"data/a": d.value(), "data/b": d.value()}
	return d.makeConfig(ctx, c, "recreated")
}
