// From the numbers of an output to labels: int8 to numbers, softmax or sigmoid, the most probable first.

// Numbers of an output; int8 q stands for (q - zeroPoint) * scale.
export function numbers({ data }, { scale, zeroPoint }) {
  const plain = Array.from(data, Number);
  return scale === null ? plain : plain.map((value) => (value - zeroPoint) * scale);
}

export function softmax(logits) {
  const largest = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

export function sigmoid(logits) {
  return logits.map((logit) => 1 / (1 + Math.exp(-logit)));
}

// [{label, probability, index}], the most probable first; of equal ones the first label.
export function ranked(labels, probabilities) {
  return labels
    .map((label, index) => ({ label, probability: probabilities[index], index }))
    .sort((one, other) => other.probability - one.probability || one.index - other.index);
}

export function largest(values) {
  return values.reduce((best, value, index) => (value > values[best] ? index : best), 0);
}
