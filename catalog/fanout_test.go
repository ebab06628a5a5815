package catalog

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnEditIsMissedOnlyIfItCameAfterTheRecordAndBeforeTheWatches(t *testing.T) {
	recorded, edited := data{"a": "2", "b": "1"}, data{"a": "3", "b": "1"}
	for name, test := range map[string]struct {
		reads  bool // only the key b
		before data // what the former process saw after the restart
		listed data // what this one lists
		after  data // what it sees later
		want   bool
	}{
		"nothing happened":               {listed: recorded},
		"nobody watched":                 {listed: edited, want: true},
		"nobody watched, and it is gone": {listed: edited, after: data{}},
		"this process watched":           {listed: recorded, after: edited},
		"another edit was watched":       {listed: edited, after: data{"a": "4", "b": "1"}},
		"the former process watched":     {before: edited, listed: edited, want: true},
		"another key that it reads not":  {reads: true, listed: edited},
	} {
		t.Run(name, func(t *testing.T) {
			reads := readsAll("web", false)
			if test.reads {
				reads = readsKey("web", "b", false)
			}
			s := begin(deployment(reads))
			s.listed(configMap("web", data{"a": "1", "b": "1"}))
			s.recorded(10)
			s.config("web", recorded, 20)
			s.restart(21)
			if test.before != nil {
				s.config("web", test.before, 30)
			}
			missed := func() bool {
				return s.catalog.MissedEdit(s.catalog.Workload(deploymentRef("web")), configMapRef("web"))
			}
			if missed() {
				t.Error("the process that restarted has missed an edit")
			}
			s.restartController(configMap("web", test.listed))
			switch {
			case len(test.after) > 0:
				s.config("web", test.after, 40)
			case test.after != nil:
				s.deleted("web", 40)
			}
			if got := missed(); got != test.want {
				t.Errorf("missed: %t, want %t", got, test.want)
			}
		})
	}
}

// Each takeover asks this about all restarts of the last minutes, before anybody may restart, and configs may be large.
func TestTheChecksumOfALargeConfigIsComputedOnceForAllReaders(t *testing.T) {
	key := NewChecksumKey([ChecksumKeySize]byte{1})
	for _, c := range []struct {
		about            string
		config           Config
		reads, readsElse Selection
		isRemembered     bool
	}{
		{"all keys", NewConfigMap(configMap("web", manyKeys(fewKeys+1, ""))), Selection{}, Selection{}, true},
		{"for variables", NewConfigMap(configMap("web", manyKeys(fewKeys+1, ""))), Selection{DataOnly: true}, Selection{}, true},
		{"few keys", NewConfigMap(configMap("web", manyKeys(fewKeys, ""))), Selection{}, Selection{}, false},
		{"a part", NewConfigMap(configMap("web", manyKeys(fewKeys+1, ""))), Selection{Names: []string{keyNamed(1)}}, Selection{Names: []string{keyNamed(1)}}, false},
	} {
		var wholes wholeChecksums
		want := c.config.Checksum([]Selection{c.reads}, key)
		if got := wholes.checksum(&c.config, []Selection{c.reads}, key); got != want {
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
		shared.Ref = ConfigRef{ConfigMap, "other", shared.Ref.Namespace + "/" + shared.Ref.Name}
		if got := wholes.checksum(&shared, []Selection{c.readsElse}, key); (got != want) != c.isRemembered {
			t.Errorf("%s: %s for another reader, remembered: %t", c.about, got, c.isRemembered)
		}
		changed := c.config
		changed.Keys = slices.Clone(changed.Keys)
		changed.Keys[1].Checksum++
		if got, want := wholes.checksum(&changed, []Selection{c.reads}, key), changed.Checksum([]Selection{c.reads}, key); got != want {
			t.Errorf("%s: %s of other content, want %s", c.about, got, want)
		}
	}
}

func TestAWholeChecksumIsOfOneKeyOfChecksumsAndOnlySoManyAreRemembered(t *testing.T) {
	content := make(map[string][]byte)
	for i := range fewKeys + 1 {
		content[keyNamed(i)] = nil
	}
	secret := NewSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "first"}, Data: content})
	var wholes wholeChecksums
	for i := range maxWholeChecksums + 10 {
		secret.Ref.Name = fmt.Sprint(i)
		for id := range byte(2) {
			key := NewChecksumKey([ChecksumKeySize]byte{id})
			if got, want := wholes.checksum(&secret, []Selection{{}}, key), secret.Checksum([]Selection{{}}, key); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		if len(wholes.of) > maxWholeChecksums {
			t.Fatalf("%d are remembered", len(wholes.of))
		}
	}
}
