package exportmobile;

/** A label of labels.txt, how probable the model thinks it is, and the number that this comes from. */
public final class Label {
  public final String name;
  /** The line of labels.txt, from 0. */
  public final int index;
  public final float probability;
  public final float logit;

  public Label(String name, int index, float probability, float logit) {
    this.name = name;
    this.index = index;
    this.probability = probability;
    this.logit = logit;
  }

  @Override
  public String toString() {
    return name + " " + probability;
  }
}
