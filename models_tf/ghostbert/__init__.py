"""GhostBERT: a BERT, mostly a pruned one, with cheap features made of the ones it has. The network is `models_tf/encoder`.

There is no reference code, and the paper (Huang et al., ACL 2021) was available as its abstract and summaries only: the
definition here is a reconstruction, with a setting for every choice:

- A ghost of a layer's attention is ReLU(sum over the kept heads h of D_h(head h)), where D_h is a depthwise convolution over
  time, three tokens wide (`ghost_kernel`), each channel with a kernel of its own that is a softmax: positive, sum 1.
- `ghost_on: heads` (default): heads and ghosts are concatenated in front of the output's kernel, which has rows for both.
- `ghost_on: outputs`: each head goes through its rows of the output's kernel first; ghosts of these are added to their sum,
  each times a gain.
- The FFN likewise, in folds: its neurons behind the activation, cut into as many folds as the unpruned model has heads.
- Padding is zeroed in front of a convolution, so a row's answer does not depend on the length it is padded to.

A model starts as the function it was without ghosts: the new rows of the output's kernel, or the gains, are zero. The
kernels' logits are drawn from a normal distribution, or all ghosts would learn the same.
"""
