package kinds

import (
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/fairqueue"
)

// heavy lets those wait for each other that decode JSON which no API server has decoded, if that takes much memory. The
// process has only one memory.
var heavy fairqueue.TurnLock

// decode decodes JSON of a namespace. If it is heavy, that waits for its turn; see [template.CheckSize].
func decode(namespace string, isHeavy bool, decode func()) {
	if isHeavy {
		heavy.Enter(namespace)
		defer heavy.Leave()
	}
	decode()
}

// decodeObject decodes parts of an object. One that is too large is not decoded at all, so that it need not wait.
func decodeObject(o *custom.Object, do func()) {
	isHeavy, err := o.CheckSize()
	decode(o.Namespace, isHeavy && err == nil, do)
}
