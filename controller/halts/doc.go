// Package halts keeps the halts in a ConfigMap, so that the next leader knows them, and takes in what people write
// there. A halt that is missing there was resumed by whoever removed it. The ConfigMap is written only when something
// has gone wrong, keeps what others write, and is read every 10 seconds.
package halts
