package scheduler

// journal holds how to take back the changes of a cluster, the last one first, while there is a mark.
type journal struct {
	// serial changes with every change of the cluster.
	serial  uint64
	open    int
	changes []change
	// undoing is set while changes are taken back, which are not logged again.
	undoing bool
}

// change is one change of the cluster: a pod that was attached to its node or detached from it, or another
// one that undo takes back.
type change struct {
	p        *placed
	at       int
	attached bool
	undo     func()
}

func (j *journal) add(c change) {
	j.serial++
	if j.open > 0 && !j.undoing {
		j.changes = append(j.changes, c)
	}
}

func (j *journal) log(undo func()) {
	j.serial++
	if j.open > 0 && !j.undoing {
		j.changes = append(j.changes, change{undo: undo})
	}
}

// Mark is a moment that [Cluster.Rollback] returns to.
type Mark int

// Mark begins a trial: what changes from now on can be taken back. Every mark needs one Rollback or Keep, the
// last mark first.
func (c *Cluster) Mark() Mark {
	m := c.mark()
	next, preempted, serial := c.next, c.nextPreempted, c.journal.serial
	c.journal.log(func() { c.next, c.nextPreempted = next, preempted })
	c.journal.serial = serial // nothing has changed yet
	return m
}

// mark is Mark for trials that neither decide nor change anything but pods.
func (c *Cluster) mark() Mark {
	c.journal.open++
	return Mark(len(c.journal.changes))
}

// Rollback takes back all changes since the mark; the cluster is as it was. The cost is that of the changes.
func (c *Cluster) Rollback(m Mark) {
	j := &c.journal
	j.undoing = true
	for len(j.changes) > int(m) {
		last := len(j.changes) - 1
		ch := j.changes[last]
		j.changes[last] = change{}
		j.changes = j.changes[:last]
		switch {
		case ch.undo != nil:
			ch.undo()
		case ch.attached:
			c.detach(ch.p)
		default:
			c.reattach(ch.p, ch.at)
		}
	}
	j.undoing = false
	j.open--
}

// Keep ends a trial and keeps its changes, unless an earlier mark is rolled back.
func (c *Cluster) Keep(Mark) {
	j := &c.journal
	if j.open--; j.open == 0 {
		clear(j.changes)
		j.changes = j.changes[:0]
	}
}

// reattach puts a pod back where detach took it from in the list of its node.
func (c *Cluster) reattach(p *placed, at int) {
	n := p.node
	c.attach(p)
	last := len(n.pods) - 1
	n.pods[at], n.pods[last] = n.pods[last], n.pods[at]
	n.pods[at].slot, n.pods[last].slot = at, last
}
