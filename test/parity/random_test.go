package parity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const stepsPerPlay = 14

// TestRandomScenarios plays sequences of random steps. Each is determined by its
// seed, which is part of its name.
func TestRandomScenarios(t *testing.T) {
	first := max(*seed, 1)
	for number := range uint64(*plays) {
		seed := first + number
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { playRandomly(openScene(t), seed) })
	}
}

// chance draws steps.
type chance struct {
	workload
	*rand.Rand
	heldTemplates int
	scaledByHand  bool
}

// step does something to the workload and says what, or nothing if it does not
// suit.
type step func(*chance) (done string)

func playRandomly(s *scene, seed uint64) {
	s.ignore("Events: which steps a rollout takes depends on when pods become ready", func(s *snapshot) { s.Events = nil })
	s.underway()
	s.conditionsInAnyOrder("it depends on which statuses in between are written")
	s.ignore("the name of the complete ReplicaSet: where all pods are ready at once, the original may leave the previous one's", func(s *snapshot) {
		s.forgetNameOfComplete()
	})
	random := rand.New(rand.NewPCG(seed, 0))
	c := &chance{Rand: random, workload: s.create(replicas(random.Int32N(6)), strategies[random.IntN(len(strategies))])}
	c.settle("created")
	for number := 0; number < stepsPerPlay; {
		s.nextSecond()
		done := steps[c.IntN(len(steps))](c)
		if done == "" {
			continue
		}
		number++
		s.Logf("step %d: %s", number, done)
		c.await(observed, reported)
		c.checkpoint(done)
	}
}

var strategies = []option{
	rolling(1, 0), rolling(0, 1), rolling("25%", "25%"), rolling(2, 2), rolling("100%", "0%"), rolling(0, "100%"), recreate,
}

// steps are drawn with the same probability; what matters more is there twice.
var steps = []step{
	scaleToAnySize, scaleToAnySize, rollToAnyImage, rollToAnyImage, rollAndHold, rollAndHold, letSomeGo, letSomeGo,
	pauseOrResume, rollBack, changeStrategy, changeHistoryLimit, changeAnnotation,
	scaleAReplicaSet, deleteAnOldReplicaSet, takeOwnerAway, failAPod, makeAgain,
}

func scaleToAnySize(c *chance) string {
	size := c.Int32N(9)
	c.scale(size)
	return fmt.Sprintf("scale to %d", size)
}

func rollToAnyImage(c *chance) string {
	name := fmt.Sprintf("i:%d", 1+c.IntN(4))
	c.change(image(name), free)
	return "roll to " + name
}

// rollAndHold gives the template an image of its own, so that each image means one
// ReplicaSet.
func rollAndHold(c *chance) string {
	c.heldTemplates++
	name := fmt.Sprintf("held:%d", c.heldTemplates)
	c.change(image(name), held)
	return "roll to " + name
}

func letSomeGo(c *chance) string {
	current := c.present().Spec.Template.Spec.Containers[0].Image
	waiting := 0
	for _, pod := range c.sides[0].mirror.view(c.namespace).pods {
		if isHeld(pod) && pod.Spec.Containers[0].Image == current {
			waiting++
		}
	}
	if waiting == 0 {
		return ""
	}
	count := 1 + c.IntN(waiting)
	c.letGo(current, count)
	return fmt.Sprintf("let %d of %d pods of %s go", count, waiting, current)
}

func pauseOrResume(c *chance) string {
	if c.present().Spec.Paused {
		c.resume()
		return "resume"
	}
	c.pause()
	return "pause"
}

func rollBack(c *chance) string {
	to := fmt.Sprint(c.IntN(6))
	c.change(rollBackTo(to))
	return "roll back to " + to
}

func changeStrategy(c *chance) string {
	which := c.IntN(len(strategies))
	c.change(strategies[which])
	return fmt.Sprintf("strategy number %d", which)
}

func changeHistoryLimit(c *chance) string {
	limit := c.Int32N(4)
	c.change(historyLimit(limit))
	return fmt.Sprintf("history limit %d", limit)
}

func changeAnnotation(c *chance) string {
	key, value := fmt.Sprintf("key-%d", c.IntN(3)), []string{"", "1", "2"}[c.IntN(3)]
	c.change(annotated(key, value))
	return fmt.Sprintf("annotation %s=%s", key, value)
}

// scaleAReplicaSet makes one that has pods larger. (Were it made smaller, it would
// be a matter of speed whether pods go before its size is put right, and which. For
// those without pods there is a scenario.)
func scaleAReplicaSet(c *chance) string {
	image, found := c.anyReplicaSet(func(rs *appsv1.ReplicaSet) bool { return *rs.Spec.Replicas > 0 })
	if _, failed := c.anyPod(hasFailed); !found || failed { // the further pods may be ready, or gone before
		return ""
	}
	if !c.scaledByHand {
		c.scaledByHand = true
		c.progressingForAnyReason("whether a status is written before the size is put right, when the rollout was complete")
	}
	more := 1 + c.Int32N(4)
	c.changeReplicaSet(image, func(rs *appsv1.ReplicaSet) { *rs.Spec.Replicas += more })
	return fmt.Sprintf("scale the ReplicaSet of %s up by %d, by hand", image, more)
}

func deleteAnOldReplicaSet(c *chance) string {
	present := c.present().Spec.Template.Spec.Containers[0].Image
	image, found := c.anyReplicaSet(func(rs *appsv1.ReplicaSet) bool { return imageOf(rs) != present })
	if !found {
		return ""
	}
	c.deleteReplicaSet(image)
	return "delete the ReplicaSet of " + image
}

func takeOwnerAway(c *chance) string {
	image, found := c.anyReplicaSet(func(*appsv1.ReplicaSet) bool { return true })
	if !found {
		return ""
	}
	c.changeReplicaSet(image, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil })
	return "take the owner of the ReplicaSet of " + image + " away"
}

// failAPod fails a pod, or lets one that has failed recover.
func failAPod(c *chance) string {
	if image, found := c.anyPod(hasFailed); found {
		c.recover(image, 1)
		return "let a pod of " + image + " recover"
	}
	if image, found := c.anyPod(isReady); found {
		c.fail(image, 1)
		return "fail a pod of " + image
	}
	return ""
}

// makeAgain deletes the Deployment without its ReplicaSets, and makes one like it.
func makeAgain(c *chance) string {
	before := c.present().DeepCopy()
	c.delete(metav1.DeletePropagationOrphan)
	c.scene.await("the Deployment is gone", func(v *view) error { return orphaned(len(v.replicaSets))(v) })
	c.create(func(d *appsv1.Deployment) { d.Spec = before.Spec })
	return "delete the Deployment, not its ReplicaSets, and make it again"
}

// present is the Deployment as it was at the last checkpoint.
func (c *chance) present() *appsv1.Deployment {
	return c.sides[0].mirror.view(c.namespace).deployment(c.name)
}

// anyReplicaSet draws one of those that suit, by its image.
func (c *chance) anyReplicaSet(suits func(*appsv1.ReplicaSet) bool) (image string, found bool) {
	var images []string
	for _, rs := range c.sides[0].mirror.view(c.namespace).replicaSets {
		if suits(rs) {
			images = append(images, imageOf(rs))
		}
	}
	return c.draw(images)
}

// anyPod is the same for pods.
func (c *chance) anyPod(suits func(*corev1.Pod) bool) (image string, found bool) {
	var images []string
	for _, pod := range c.sides[0].mirror.view(c.namespace).pods {
		if suits(pod) {
			images = append(images, pod.Spec.Containers[0].Image)
		}
	}
	return c.draw(images)
}

func (c *chance) draw(images []string) (image string, found bool) {
	if len(images) == 0 {
		return "", false
	}
	slices.Sort(images) // the order in which they were found does not depend on the seed
	return images[c.IntN(len(images))], true
}
