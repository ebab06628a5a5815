package content

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Each takeover asks this about all restarts of the last minutes, before anybody may restart, and configs may be large.
func TestTheChecksumOfALargeConfigIsComputedOnceForAllReaders(t *testing.T) {
	key := NewChecksumKey([ChecksumKeySize]byte{1})
	for _, c := range []struct {
		about            string
		config           Config
		reads, readsElse template.Selection
		isRemembered     bool
	}{
		{"all keys", NewConfigMap(objecttest.ConfigMap("web", objecttest.ManyKeys(fewKeys+1, ""))), template.Selection{}, template.Selection{}, true},
		{"for variables", NewConfigMap(objecttest.ConfigMap("web", objecttest.ManyKeys(fewKeys+1, ""))), template.Selection{DataOnly: true}, template.Selection{}, true},
		{"few keys", NewConfigMap(objecttest.ConfigMap("web", objecttest.ManyKeys(fewKeys, ""))), template.Selection{}, template.Selection{}, false},
		{"a part", NewConfigMap(objecttest.ConfigMap("web", objecttest.ManyKeys(fewKeys+1, ""))), template.Selection{Names: []string{objecttest.KeyNamed(1)}}, template.Selection{Names: []string{objecttest.KeyNamed(1)}}, false},
	} {
		var wholes WholeChecksums
		want := c.config.Checksum([]template.Selection{c.reads}, key)
		if got := wholes.Checksum(&c.config, []template.Selection{c.reads}, key); got != want {
			t.Errorf("%s: %s, want %s", c.about, got, want)
		}
		if isRemembered := len(wholes.of) > 0; isRemembered != c.isRemembered {
			t.Errorf("%s: remembered: %t", c.about, isRemembered)
		}
		for ref, whole := range wholes.of {
			whole.checksum++
			wholes.of[ref] = whole
		}
		shared := c.config // as its readers in another namespace have it
		shared.Ref = names.ConfigRef{Kind: names.ConfigMap, Namespace: "other", Name: shared.Ref.Namespace + "/" + shared.Ref.Name}
		if got := wholes.Checksum(&shared, []template.Selection{c.readsElse}, key); (got != want) != c.isRemembered {
			t.Errorf("%s: %s for another reader, remembered: %t", c.about, got, c.isRemembered)
		}
		changed := c.config
		keys := slices.Collect(changed.Keys.All())
		keys[1].Checksum++
		changed.Keys = names.NewKeys(keys)
		if got, want := wholes.Checksum(&changed, []template.Selection{c.reads}, key), changed.Checksum([]template.Selection{c.reads}, key); got != want {
			t.Errorf("%s: %s of other content, want %s", c.about, got, want)
		}
	}
}

func TestAWholeChecksumIsOfOneKeyOfChecksumsAndOnlySoManyAreRemembered(t *testing.T) {
	content := make(map[string][]byte)
	for i := range fewKeys + 1 {
		content[objecttest.KeyNamed(i)] = nil
	}
	secret := NewSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "first"}, Data: content})
	var wholes WholeChecksums
	for i := range maxWholeChecksums + 10 {
		secret.Ref.Name = fmt.Sprint(i)
		for id := range byte(2) {
			key := NewChecksumKey([ChecksumKeySize]byte{id})
			if got, want := wholes.Checksum(&secret, []template.Selection{{}}, key), secret.Checksum([]template.Selection{{}}, key); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		if len(wholes.of) > maxWholeChecksums {
			t.Fatalf("%d are remembered", len(wholes.of))
		}
	}
}
