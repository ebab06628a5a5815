package rollout

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The hashes are those that kube-controller-manager 1.37.1 gave the templates.
// With another version of k8s.io/api they change, as its own do with its version.
func TestATemplateHasTheHashThatKubernetesGivesIt(t *testing.T) {
	for name, test := range map[string]struct {
		template   string
		collisions *int32
		want       string
	}{
		"a simple one":               {"nginx-deployment", nil, "54fd4d6d4c"},
		"after a collision":          {"nginx-deployment", new(int32(1)), "77b67654cd"},
		"with a hash of its own":     {"own-hash", nil, "6f4568d99d"},
		"one with almost everything": {"rich", nil, "779fd8888c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TemplateHash(storedTemplate(t, test.template), test.collisions); got != test.want {
				t.Errorf("hash %s, want %s", got, test.want)
			}
		})
	}
}

// storedTemplate is a pod template as the API server answered it.
func storedTemplate(t testing.TB, name string) *corev1.PodTemplateSpec {
	t.Helper()
	encoded, err := os.ReadFile("testdata/templates/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(encoded, &template); err != nil {
		t.Fatal(err)
	}
	return &template
}

func TestEachCollisionGivesAnotherHash(t *testing.T) {
	template := templateOf("v1")
	seen := map[string]bool{TemplateHash(&template, nil): true}
	for collisions := range int32(100) {
		hash := TemplateHash(&template, &collisions)
		if seen[hash] {
			t.Errorf("%s again after %d collisions", hash, collisions)
		}
		seen[hash] = true
	}
}

func TestTheNameOfAReplicaSetIsCutToWhatTheAPITakes(t *testing.T) {
	for name, test := range map[string]struct {
		deployment, hash, want string
	}{
		"short":          {"web", "6c5f67b5f7", "web-6c5f67b5f7"},
		"just right":     {strings.Repeat("x", 242), "6c5f67b5f7", strings.Repeat("x", 242) + "-6c5f67b5f7"},
		"one too many":   {strings.Repeat("x", 243), "6c5f67b5f7", strings.Repeat("x", 242) + "-6c5f67b5f7"},
		"the longest":    {strings.Repeat("x", 253), "6c5f67b5f7", strings.Repeat("x", 242) + "-6c5f67b5f7"},
		"a shorter hash": {strings.Repeat("x", 253), "6c5f", strings.Repeat("x", 248) + "-6c5f"},
		"cut at a dot":   {strings.Repeat("x", 241) + ".yz", "6c5f67b5f7", strings.Repeat("x", 241) + ".-6c5f67b5f7"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReplicaSetName(test.deployment, test.hash); got != test.want || len(got) > 253 {
				t.Errorf("name %s", got)
			}
		})
	}
}

func TestTheSumOfATemplateLeavesOutTheHash(t *testing.T) {
	template, revision := templateOf("v1"), templateOf("v1")
	sum, _ := sumsOf(&template, false)
	revision.Labels[HashLabel] = "6c5f67b5f7"
	if got, _ := sumsOf(&revision, false); got != sum {
		t.Error("the template of a ReplicaSet has another sum than that of its Deployment")
	}
	revision.Labels["a"] = "b"
	if got, _ := sumsOf(&revision, false); got == sum {
		t.Error("another label is no other template")
	}
}

func TestARestartIsNoOtherReleaseWhereThatMatters(t *testing.T) {
	template := templateOf("v1")
	sum, bare := sumsOf(&template, true)
	if bare != sum {
		t.Error("a template without restarts has two sums")
	}
	for name, test := range map[string]struct {
		annotation  string
		isRestarted bool
	}{
		"ours":              {"com.xing.deployment-restart.timestamp", true},
		"the cause of ours": {"com.xing.deployment-restart.cause", true},
		"that of kubectl":   {"kubectl.kubernetes.io/restartedAt", true},
		"another one":       {"checksum/config", false},
	} {
		changed := templateOf("v1")
		changed.Annotations = map[string]string{test.annotation: "now"}
		changed.Labels[HashLabel] = "6c5f67b5f7"
		got, gotBare := sumsOf(&changed, true)
		if got == sum {
			t.Errorf("%s: the annotation does not make another ReplicaSet", name)
		}
		if isSame := gotBare == bare; isSame != test.isRestarted {
			t.Errorf("%s: the same release: %t", name, isSame)
		}
		if plain, plainBare := sumsOf(&changed, false); plain != got || plainBare != plain {
			t.Errorf("%s: a Deployment that does not ask to fall back pays for a second sum", name)
		}
		if _, kept := changed.Annotations[test.annotation]; !kept {
			t.Errorf("%s: the template was modified", name)
		}
	}
}
