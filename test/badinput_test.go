package test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// manyKeys gives each of so many keys a value.
func manyKeys(count int, value string) change {
	return func(c *content) {
		for i := range count {
			c.data["key-"+strconv.Itoa(i)] = value
		}
	}
}

const mebibyte = 1 << 20 // the most that a ConfigMap or a Secret may hold

func TestConfigsOfAnySizeAndContentRestartTheirWorkloads(t *testing.T) {
	t.Parallel()
	longName, longKey := configMap(strings.Repeat("n", 253)), strings.Repeat("k", 253)
	volume := withVolumes(podOf(mount("v")), volumeOf("v", settings))
	for name, c := range map[string]struct {
		config       config
		pod          corev1.PodSpec
		before, edit change
		message      string
	}{
		"a mebibyte": {
			settings, podOf(envFrom(settings)), set("big", strings.Repeat("a", mebibyte-3)), set("big", strings.Repeat("a", mebibyte-4)+"b"),
			"configmap settings changed (keys: big)",
		},
		"a Secret of a mebibyte": {
			credentials, podOf(envFrom(credentials)), set("big", strings.Repeat("a", mebibyte-3)), set("big", strings.Repeat("a", mebibyte-4)+"b"),
			"secret credentials changed (1 key)",
		},
		"ten thousand keys, one of which changes": {
			settings, podOf(envFrom(settings)), manyKeys(10000, "a"), set("key-7777", "b"), "configmap settings changed (keys: key-7777)",
		},
		"ten thousand keys, all of which change": {
			settings, podOf(envFrom(settings)), manyKeys(10000, "a"), manyKeys(10000, "b"),
			"configmap settings changed (keys: key-9099, key-91, key-910, key-9100, key-9101, key-9102, key-9103, key-9104, key-9105, key-9106 and at least 990 more)",
		},
		"nothing, and then something": {
			settings, podOf(envFrom(settings)), func(*content) {}, set("a", "1"), "configmap settings changed (keys: a)",
		},
		"something, and then nothing": {
			settings, podOf(envFrom(settings)), set("a", "1"), remove("a"), "configmap settings changed (keys: a)",
		},
		"a key without a value, and then with one": {
			settings, podOf(envFrom(settings)), set("a", ""), set("a", "1"), "configmap settings changed (keys: a)",
		},
		"bytes that are no text": {
			settings, volume, setBinary("a", "\x00\xff\xfe\n"), setBinary("a", "\x00\xff\xfd\n"), "configmap settings changed (keys: a)",
		},
		"bytes of a Secret that are no text": {
			credentials, podOf(envFrom(credentials)), set("a", "\x00\xff\xfe"), set("a", "\x00\xff\xfd"), "secret credentials changed (1 key)",
		},
		"the longest names": {
			longName, podOf(envKey(longName, longKey)), set(longKey, "a"), set(longKey, "b"),
			fmt.Sprintf("configmap %s changed (keys: %s)", longName.name, longKey),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.make(c.config, c.before)
			app := s.run("app", c.pod)
			s.await("is recorded with its config, which may come late as it is large", app, func(st state) error {
				if !strings.Contains(st.Annotations[checksumsAnnotation], c.config.key(s.namespace)) {
					return errors.New("it is not recorded")
				}
				return nil
			})
			before := s.started(app)
			s.edit(c.config, c.edit)
			s.awaitRestartEvent(app, "restarting: "+c.message)
			s.settle()
			s.requireRestarts(app, before, 1)
			s.requireNewRecord(before, s.now(app), c.config)
		})
	}
}

// A Deployment's name and a hash must fit in that of its ReplicaSet.
func TestAWorkloadWithTheLongestNameRestarts(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("a", "1"))
	name := strings.Repeat("d", 242)
	label := map[string]string{"app": "long"}
	app := s.run(name, podOf(envFrom(settings)), func(d *appsv1.Deployment) {
		d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = label, label
	})
	s.eventually("it is recorded", func(ctx context.Context) error {
		st, err := s.look(ctx, app)
		if err == nil {
			_, err = st.checksums()
		}
		return err
	})
	s.edit(settings, set("a", "2"))
	s.awaitRestartEvent(app, "restarting: configmap settings changed (keys: a)")
	s.settle()
	st, err := s.look(t.Context(), app)
	s.must(err)
	if st.restartedAt() == "" || st.Generation != 3 { // made, recorded, restarted
		t.Errorf("restarted at %q, generation %d, want 3", st.restartedAt(), st.Generation)
	}
}

func TestAHugeRecordOfSomebodyElsesIsReplaced(t *testing.T) {
	s := newScene(t)
	s.make(settings, set("a", "1"))
	entries := make([]string, 2000)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"configmap/%s/some-config-%d":"0123456789abcdef"`, s.namespace, i)
	}
	app := s.run("app", podOf(envFrom(settings)), func(d *appsv1.Deployment) {
		d.Annotations[checksumsAnnotation] = "{" + strings.Join(entries, ",") + "}"
	})
	st := s.await("has a record of its own", app, func(st state) error {
		if got := len(st.Annotations[checksumsAnnotation]); got > 200 {
			return fmt.Errorf("it has one of %d bytes", got)
		}
		return nil
	})
	if st.restartedAt() != "" {
		t.Errorf("restarted at %s for a record", st.restartedAt())
	}
	before := s.started(app)
	s.edit(settings, set("a", "2"))
	s.awaitRestart(app, before)
}

// An object's annotations may have 256 KiB together. A thousand configs with long names
// do not fit.
func TestAWorkloadWithVeryManyConfigsRestarts(t *testing.T) {
	const count = 1100
	s := newScene(t)
	names := make([]config, count)
	parts := make([]func(*corev1.Container), count)
	for i := range names {
		names[i] = configMap(fmt.Sprintf("%04d-%s", i, strings.Repeat("n", 240)))
		parts[i] = envFrom(names[i])
		s.make(names[i], set("a", "1"))
	}
	app := s.run("app", podOf(parts...))
	before := s.started(app)
	checksums, err := before.checksums()
	s.must(err)
	if _, found := checksums[names[count-1].key(s.namespace)]; found || len(checksums) < count/2 {
		t.Fatalf("%d of %d configs are recorded, the last among them: %t", len(checksums), count, found)
	}
	s.letTimePass()
	for _, c := range []config{names[0], names[count-1]} { // one that is recorded, one that is not
		before = s.now(app)
		s.edit(c, set("a", "2"))
		s.awaitRestartEvent(app, fmt.Sprintf("restarting: configmap %s changed (keys: a)", c.name))
		s.settle()
		s.requireRestarts(app, before, 1)
	}
}

// Anyone who can create ControllerRevisions can give one the labels of a workload. Without a
// trusted record, the workload's pods decide, and for that its revisions are read.
func TestSomebodyElsesUnreadableRevisionDoesNotDelayRestarts(t *testing.T) {
	s := newSceneApart(t)
	s.make(settings, set("used", "v1"))
	stateful := s.runStateful("stateful", podOf(envFrom(settings)))
	s.awaitRollout(stateful)
	owner, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), settings.name, metav1.GetOptions{})
	s.must(err)
	_, err = s.client.AppsV1().ControllerRevisions(s.namespace).Create(t.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "poison", Labels: map[string]string{"app": stateful.name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		},
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":"none"}}`)}, Revision: 1,
	}, metav1.CreateOptions{})
	s.must(err)
	s.letTimePass()
	before := s.now(stateful)
	s.edit(settings, set("used", "v2"))
	s.startController()
	s.awaitRestart(stateful, before)
	s.settle()
	s.requireRestarts(stateful, before, 1)
}
