"""GhostBERT: a BERT, usually pruned, with cheap extra features made from its own. The network is `models_tf/encoder`.

There is no reference code, and only the abstract and summaries of the paper (Huang et al., ACL 2021) were available:
the definition here is a reconstruction, with a setting for every choice:

- A ghost of a layer's attention is ReLU(sum over the kept heads h of D_h(head h)). D_h is a depthwise convolution over
  time, three tokens wide (`ghost_kernel`); each channel has its own kernel, a softmax: positive, sum 1.
- `ghost_on: heads` (default): heads and ghosts are concatenated before the output's kernel, which has rows for both.
- `ghost_on: outputs`: each head first passes through its rows of the output's kernel; the ghosts of the results are
  added to their sum, each times a gain.
- The FFN works the same way: its neurons after the activation form as many folds as the unpruned model has heads.
- Padding is zeroed before a convolution, so a row's output does not depend on the length it is padded to.

A model starts as the function it was without ghosts: the new rows of the output's kernel, or the gains, are zero. The
kernels' logits are drawn from a normal distribution, since equal ghosts would all learn the same.
"""
