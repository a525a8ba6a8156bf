// Package naive is the scheduler's decision without any index: it looks at every node and every pod, each
// time. The scheduler's tests compare with it.
package naive
